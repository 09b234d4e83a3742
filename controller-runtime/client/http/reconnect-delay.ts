import type { Clock } from '../../api/index.ts';

/**
 * The first delay, as in Kubernetes' reflector. It is short enough that a restarted server is found soon, and long
 * enough to put little load on a server that is starting.
 */
const baseMs = 800;
const maxMs = 30_000;
/** The time without a failure after which the next delay starts at {@link baseMs} again. */
const quietMs = 120_000;

/**
 * Computes the delay before the next attempt: 800 ms, doubled by each failure up to 30 s. The delay is multiplied by a
 * random factor between a half and 1, so that clients that failed at the same time do not reconnect at the same time.
 * The delay returns to 800 ms only after two minutes without a failure, because a server may accept connections and
 * soon break them.
 */
export class ReconnectDelay {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * `random` returns a number between 0 (wait half of the delay) and 1 (wait the whole delay). Default: always 1, for
   * retries that need no random delay.
   */
  constructor({ clock, random = () => 1 }: { readonly clock: Clock; readonly random?: () => number }) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Counts a failure; returns the milliseconds to wait. */
  next(): number {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#failedAtMs > quietMs) this.#failures = 0;
    this.#failedAtMs = nowMs;
    const wholeMs = Math.min(baseMs * 2 ** this.#failures, maxMs);
    this.#failures += 1;
    return wholeMs * (0.5 + this.#random() / 2);
  }
}
