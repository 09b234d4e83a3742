import { requiredTokenOf, tokensOf } from '../operation-tokens.ts';
import { storeErrorCodeOf } from '../store-error.ts';
import type { Committed, Operation, Outcome, Store } from '../store.ts';

/** The limits of a transaction with several batches. A larger batch has a separate transaction. */
const maxOperations = 2_000;
const maxBytes = 8 * 1024 * 1024;

interface Waiting {
  readonly batch: readonly Operation[];
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
}

/** A commit in which at least one operation was written. */
export interface WrittenCommit {
  readonly operations: readonly Operation[];
  /** The outcomes of the operations, in their order. */
  readonly outcomes: readonly Outcome[];
  /** The last revision of the commit. */
  readonly revision: number;
}

export interface MergedCommitsParts {
  readonly store: Pick<Store, 'commit'>;
  /**
   * Called for each commit before the next one begins. The batches of the commit resolve after the returned promise,
   * which never rejects.
   */
  readonly onCommitted: (commit: WrittenCommit) => Promise<void>;
}

/**
 * Commits the batches of several writers. Batches that arrive during a commit share the next commit, and its sync to
 * the disk. Each batch is atomic. The outcomes of a batch, and the revision just before the batch, are the same as if
 * the batches were committed one by one, in the order of arrival.
 */
export class MergedCommits {
  readonly #parts: MergedCommitsParts;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #answered: Promise<void> = Promise.resolve();

  constructor(parts: MergedCommitsParts) {
    this.#parts = parts;
  }

  /** Commits a batch; resolves like {@link Store.commit}. */
  commit(batch: readonly Operation[]): Promise<Committed> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject });
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

  async #write(taken: readonly Waiting[]): Promise<void> {
    try {
      const operations = taken.flatMap(({ batch }) => batch);
      const committed = await this.#parts.store.commit(operations);
      const parts = split(taken, committed);
      const { outcomes } = committed;
      const revision = outcomes.reduce((max, each) => ('revision' in each ? each.revision : max), 0);
      const published =
        revision === 0 ? Promise.resolve() : this.#parts.onCommitted({ operations, outcomes, revision });
      // The next commit runs while the results of this one are delivered.
      this.#answered = this.#answerInTurn(published, () => {
        for (const [at, { resolve }] of taken.entries()) resolve(parts[at] ?? committed);
      });
    } catch (error) {
      await this.#fail(taken, error);
    }
  }

  async #answerInTurn(published: Promise<void>, answer: () => void): Promise<void> {
    await this.#answered;
    await published;
    answer();
  }

  /**
   * Handles a failed write. A write that fails with `refused` has stored nothing, and an operation of one batch may be
   * the cause. So if there are several batches, each one is then written again in a separate transaction. After any
   * other error, all batches reject with this error.
   */
  async #fail(taken: readonly Waiting[], error: unknown): Promise<void> {
    if (taken.length > 1 && storeErrorCodeOf(error) === 'refused') {
      for (const each of taken) await this.#write([each]);
      return;
    }
    for (const { reject } of taken) reject(error);
  }
}

/**
 * Returns the number of batches, counted from the first, that can share a transaction: they fit into it, and no batch
 * changes a key or a claim that another one changes or requires.
 */
function mergeable(waiting: readonly Pick<Waiting, 'batch'>[]): number {
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

/** Splits the result of a commit into the results of its batches. */
function split(taken: readonly Pick<Waiting, 'batch'>[], { before, outcomes }: Committed): readonly Committed[] {
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
