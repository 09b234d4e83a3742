import { requiredTokenOf, tokensOf } from '../operation-tokens.ts';
import { storeErrorCodeOf } from '../store-error.ts';
import type { Committed, Operation, Store } from '../store.ts';

/** A transaction of several batches ends at these; a larger batch has one of its own. */
const maxOperations = 2_000;
const maxBytes = 8 * 1024 * 1024;

interface Waiting<Writer> {
  readonly writer: Writer;
  readonly batch: readonly Operation[];
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
}

export interface MergedCommitsParts<Writer> {
  readonly store: Pick<Store, 'commit'>;
  /**
   * Called with the last revision of a commit, and those who wrote in it, before the next one begins; batches are answered when it has
   * resolved. Never rejects.
   */
  readonly onCommitted: (revision: number, writers: ReadonlySet<Writer>) => Promise<void>;
}

/**
 * Commits the batches of several writers. Those that arrive during a commit share the next one, and its sync to the disk. Each is
 * atomic, and gets the outcomes and the revision before as if it had been committed alone, in the order of arrival.
 */
export class MergedCommits<Writer> {
  readonly #parts: MergedCommitsParts<Writer>;
  #waiting: Waiting<Writer>[] = [];
  #isWriting = false;
  #answered: Promise<void> = Promise.resolve();

  constructor(parts: MergedCommitsParts<Writer>) {
    this.#parts = parts;
  }

  /** As {@link Store.commit}. */
  commit(batch: readonly Operation[], writer: Writer): Promise<Committed> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ writer, batch, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#isWriting || this.#waiting.length === 0) return;
    this.#isWriting = true;
    const taken = this.#waiting.slice(0, mergeable(this.#waiting));
    this.#waiting = this.#waiting.slice(taken.length);
    void this.#write(taken).finally(() => {
      this.#isWriting = false;
      this.#next();
    });
  }

  async #write(taken: readonly Waiting<Writer>[]): Promise<void> {
    try {
      const committed = await this.#parts.store.commit(taken.flatMap(({ batch }) => batch));
      const parts = split(taken, committed);
      const last = committed.outcomes.reduce((max, each) => ('revision' in each ? each.revision : max), 0);
      const writers = new Set(taken.map(({ writer }) => writer));
      const published = last === 0 ? Promise.resolve() : this.#parts.onCommitted(last, writers);
      // The next commit runs while this one is answered, in its turn.
      const before = this.#answered;
      this.#answered = before.then(async () => {
        await published;
        for (const [at, { resolve }] of taken.entries()) resolve(parts[at] ?? committed);
      });
    } catch (error) {
      await this.#fail(taken, error);
    }
  }

  /** Nothing was written. One refused operation fails all batches, so each is tried alone. */
  async #fail(taken: readonly Waiting<Writer>[], error: unknown): Promise<void> {
    if (taken.length > 1 && storeErrorCodeOf(error) === 'refused') {
      for (const each of taken) await this.#write([each]);
      return;
    }
    for (const { reject } of taken) reject(error);
  }
}

/** The number of batches, from the first, that fit into one transaction, and of which none touches what another one touches. */
function mergeable(waiting: readonly Pick<Waiting<unknown>, 'batch'>[]): number {
  if (waiting.length === 1) return 1;
  const touched = new Set<string>();
  const required = new Set<string>();
  let operations = 0;
  let bytes = 0;
  for (const [at, { batch }] of waiting.entries()) {
    operations += batch.length;
    for (const { data } of batch) bytes += data?.byteLength ?? 0;
    if (at > 0 && (operations > maxOperations || bytes > maxBytes)) return at;
    const tokens = new Set(batch.flatMap(tokensOf));
    const needs = new Set(batch.flatMap(({ requires = [] }) => requires.map(requiredTokenOf)));
    if (at > 0 && (meets(tokens, touched) || meets(tokens, required) || meets(needs, touched))) return at;
    for (const token of tokens) touched.add(token);
    for (const need of needs) required.add(need);
  }
  return waiting.length;
}

function meets(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  for (const each of some) if (others.has(each)) return true;
  return false;
}

/** The result of each batch of a commit. */
function split(taken: readonly Pick<Waiting<unknown>, 'batch'>[], { before, outcomes }: Committed): readonly Committed[] {
  let from = 0;
  let revision = before;
  return taken.map(({ batch }) => {
    const own = outcomes.slice(from, from + batch.length);
    const part = { before: revision, outcomes: own };
    from += batch.length;
    for (const outcome of own) if ('revision' in outcome) revision = outcome.revision;
    return part;
  });
}
