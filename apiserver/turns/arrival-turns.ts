import { nextTurn } from './next-turn.ts';
import { msPerTurn } from './turn-queue.ts';

interface MonotonicClock {
  monotonicMs(): number;
}

/**
 * Spreads requests that arrive at the same time over several turns of the event loop. Node alone would handle the first
 * requests of hundreds of connections in a single turn. Requests are handled in the order of their arrival.
 */
export class ArrivalTurns {
  readonly #clock: MonotonicClock;
  /** The time of the first arrival in the current turn. */
  #beganMs: number | undefined;
  #waiting = 0;

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  /**
   * Calls `handle` immediately. If the arrivals of this turn have used up the time of a turn, or earlier arrivals still
   * wait, calls `handle` in a later turn instead.
   */
  run<Arrived extends readonly unknown[]>(handle: (...arrived: Arrived) => unknown, ...arrived: Arrived): unknown {
    const nowMs = this.#clock.monotonicMs();
    if (this.#beganMs === undefined) {
      this.#beganMs = nowMs;
      setImmediate(this.#endTurn);
    }
    if (this.#waiting === 0 && nowMs - this.#beganMs < msPerTurn) return handle(...arrived);
    this.#waiting += 1;
    return nextTurn().then(() => {
      this.#waiting -= 1;
      return handle(...arrived);
    });
  }

  readonly #endTurn = (): void => {
    this.#beganMs = undefined;
  };
}
