import { nextTurn } from './next-turn.ts';

/** Arrivals that are handled at once in a turn: a few milliseconds, and more than that with cold code. */
const atOnce = 16;

/**
 * Spreads what arrives at the same time over turns of the event loop: the first requests of hundreds of connections would
 * otherwise be handled in a single one. They are handled in the order in which they came.
 */
export class ArrivalTurns {
  #handled = 0;
  #waiting = 0;

  /** Calls `handle` at once, or in a later turn. */
  run<Arrived extends readonly unknown[]>(handle: (...arrived: Arrived) => unknown, ...arrived: Arrived): unknown {
    if (this.#waiting === 0 && this.#handled < atOnce) {
      if (this.#handled === 0) setImmediate(() => (this.#handled = 0));
      this.#handled += 1;
      return handle(...arrived);
    }
    this.#waiting += 1;
    return nextTurn().then(() => {
      this.#waiting -= 1;
      return handle(...arrived);
    });
  }
}
