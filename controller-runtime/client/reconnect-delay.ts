/** Kubernetes' reflector begins here: short enough for a restart, long enough to spare a server that is starting. */
const baseMs = 800;
const maxMs = 30_000;

/**
 * How long to wait before the next attempt: 800 ms, doubled by each failure up to 30 s, of which a random part between
 * a half and the whole is taken, so that clients that failed together do not come back together.
 */
export class ReconnectDelay {
  readonly #random: () => number;
  #failures = 0;

  /** `random` answers in [0, 1). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Counts a failure; answers the milliseconds to wait. */
  next(): number {
    const wholeMs = Math.min(baseMs * 2 ** this.#failures, maxMs);
    this.#failures += 1;
    return wholeMs * (0.5 + this.#random() / 2);
  }

  /** After a success the next failure waits the shortest time again. */
  reset(): void {
    this.#failures = 0;
  }
}
