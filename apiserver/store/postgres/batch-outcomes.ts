import type { WrittenKeys } from './postgres-history.ts';
import type { Committed, Operation, Outcome } from '../store.ts';

/**
 * Collects the outcomes of a batch's operations while the batch is sent; it is sent in several transactions if
 * connections are lost.
 */
export class BatchOutcomes {
  readonly #batch: readonly Operation[];
  readonly #outcomes = new Map<Operation, Outcome>();
  #before = 0;

  constructor(batch: readonly Operation[]) {
    this.#batch = batch;
  }

  /**
   * The operations that have no outcome yet, and must be sent: at first, all of the batch; after the response to a
   * transaction was lost, those that this transaction and earlier ones did not write.
   */
  get rest(): readonly Operation[] {
    return this.#batch.filter((operation) => !this.#outcomes.has(operation));
  }

  get isEmpty(): boolean {
    return this.#outcomes.size === 0;
  }

  /** The result of the whole batch; undefined while outcomes are missing. */
  get committed(): Committed | undefined {
    if (this.#outcomes.size < this.#batch.length) return undefined;
    return { before: this.#before, outcomes: this.#batch.flatMap((operation) => this.#outcomes.get(operation) ?? []) };
  }

  /**
   * Records the outcomes that the database has returned for a transaction. The transaction contained the operations of
   * {@link rest}, and the outcomes are in the same order.
   */
  answered({ before, outcomes }: Committed): void {
    this.#before = before;
    for (const [at, operation] of this.rest.entries()) {
      const outcome = outcomes[at];
      if (outcome) this.#outcomes.set(operation, outcome);
    }
  }

  /**
   * Records the outcomes of a transaction whose response was lost. `written` has the keys that the transaction has
   * written, as the database returned them afterward. A batch has at most one operation for each key.
   */
  found(written: WrittenKeys): void {
    // The first revision of a transaction is the value of the counter plus one.
    this.#before = Math.min(...written.values()) - 1;
    for (const operation of this.#batch) {
      const revision = written.get(operation.key);
      if (revision !== undefined) this.#outcomes.set(operation, { revision });
    }
  }
}
