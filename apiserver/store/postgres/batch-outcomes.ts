import type { WrittenKeys } from './postgres-history.ts';
import type { Committed, Operation, Outcome } from '../store.ts';

/** The known outcomes of a batch's operations while it is sent, in several transactions if connections are lost. */
export class BatchOutcomes {
  readonly #batch: readonly Operation[];
  readonly #outcomes = new Map<Operation, Outcome>();
  #before = 0;

  constructor(batch: readonly Operation[]) {
    this.#batch = batch;
  }

  /** The operations that were not written, as far as is known, or have not been sent. */
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

  /** Records the result of a look-up: all writes of a transaction. A batch has one operation per key. */
  found(written: WrittenKeys): void {
    // The first revision of a transaction follows the counter's value.
    this.#before = Math.min(...written.values()) - 1;
    for (const operation of this.#batch) {
      const revision = written.get(operation.key);
      if (revision !== undefined) this.#outcomes.set(operation, { revision });
    }
  }
}
