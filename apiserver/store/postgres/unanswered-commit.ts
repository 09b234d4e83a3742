import type { SettledRevisions } from '../store-error.ts';
import type { Operation, Outcome } from '../store.ts';

/** The keys that a transaction has written, with their revisions. */
export type WrittenKeys = ReadonlyMap<string, number>;

/** A transaction that was sent; when its answer is lost, the next session looks what became of it, by its id. */
export class UnansweredCommit {
  readonly id: string;
  /** Resolves when it was looked up. Rejects when it never will be. */
  readonly written: Promise<WrittenKeys>;
  #resolve: (written: WrittenKeys) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(id: string) {
    this.id = id;
    this.written = new Promise<WrittenKeys>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Nobody waits for what is answered.
    this.written.catch(() => undefined);
  }

  resolve(written: WrittenKeys): void {
    this.#resolve(written);
  }

  reject(error: unknown): void {
    this.#reject(error);
  }
}

/** What is known of a batch's operations while it is sent, in several transactions if connections are lost. */
export class BatchOutcomes {
  readonly #batch: readonly Operation[];
  readonly #outcomes = new Map<Operation, Outcome>();

  constructor(batch: readonly Operation[]) {
    this.#batch = batch;
  }

  /** Operations of which it is known that they are not written, or not sent. */
  get rest(): readonly Operation[] {
    return this.#batch.filter((operation) => !this.#outcomes.has(operation));
  }

  get isEmpty(): boolean {
    return this.#outcomes.size === 0;
  }

  /** In the order of the batch; undefined while some are missing. */
  get all(): readonly Outcome[] | undefined {
    if (this.#outcomes.size < this.#batch.length) return undefined;
    return this.#batch.flatMap((operation) => this.#outcomes.get(operation) ?? []);
  }

  get revisions(): SettledRevisions {
    return this.#batch.map((operation) => {
      const outcome = this.#outcomes.get(operation);
      return outcome && 'revision' in outcome ? outcome.revision : undefined;
    });
  }

  /** The outcomes of {@link rest}, in its order. */
  answered(outcomes: readonly Outcome[]): void {
    for (const [at, operation] of this.rest.entries()) {
      const outcome = outcomes[at];
      if (outcome) this.#outcomes.set(operation, outcome);
    }
  }

  /** What a look has found. A batch has one operation a key. */
  found(written: WrittenKeys): void {
    for (const operation of this.#batch) {
      const revision = written.get(operation.key);
      if (revision !== undefined) this.#outcomes.set(operation, { revision });
    }
  }
}
