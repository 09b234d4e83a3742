import type { WrittenKeys } from './postgres-history.ts';
import type { Committed, Operation, Outcome } from '../store.ts';

/** What is known of a batch's operations while it is sent, in several transactions if connections are lost. */
export class BatchOutcomes {
  readonly #batch: readonly Operation[];
  readonly #outcomes = new Map<Operation, Outcome>();
  #before = 0;

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

  /** Undefined while outcomes are missing. */
  get committed(): Committed | undefined {
    if (this.#outcomes.size < this.#batch.length) return undefined;
    return { before: this.#before, outcomes: this.#batch.flatMap((operation) => this.#outcomes.get(operation) ?? []) };
  }

  /** Records the outcomes of {@link rest}, in its order. */
  answered({ before, outcomes }: Committed): void {
    this.#before = before;
    for (const [at, operation] of this.rest.entries()) {
      const outcome = outcomes[at];
      if (outcome) this.#outcomes.set(operation, outcome);
    }
  }

  /** What a look has found: all that a transaction has written. A batch has one operation a key. */
  found(written: WrittenKeys): void {
    // The first revision of a transaction is the next one after the counter's.
    this.#before = Math.min(...written.values()) - 1;
    for (const operation of this.#batch) {
      const revision = written.get(operation.key);
      if (revision !== undefined) this.#outcomes.set(operation, { revision });
    }
  }
}
