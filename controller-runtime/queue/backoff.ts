import { unknownKeyOf } from '../api/index.ts';

export interface BackoffOptions {
  /** Delay after the first failure. Default 5 ms. */
  readonly baseMs?: number;
  /** The longest delay. Default 1,000,000 ms (1000 s). */
  readonly maxMs?: number;
  /**
   * The average number of retries per second of all keys together: a key waits for its own delay or for its turn,
   * whichever takes longer. Default: no limit.
   */
  readonly perSecond?: number;
  /** The number of retries that need not wait for their turn after a time without retries. Default 100. */
  readonly burst?: number;
}

const defaults = { baseMs: 5, maxMs: 1_000_000, perSecond: Infinity, burst: 100 } as const;

/**
 * The delay after this many failures in a row (from 1): the base, doubled by each further failure, up to the maximum.
 */
export function backoffDelayMs(failures: number, options: Pick<BackoffOptions, 'baseMs' | 'maxMs'> = {}): number {
  const { baseMs = defaults.baseMs, maxMs = defaults.maxMs } = options;
  // 2 ** 1024 is Infinity, and Math.min still returns maxMs: no failure count overflows.
  return Math.min(baseMs * 2 ** (Math.max(1, failures) - 1), maxMs);
}

/** @throws RangeError that names an option with a wrong value; TypeError for an unknown key. */
export function checkBackoff(options: BackoffOptions): void {
  const unknown = unknownKeyOf(options, Object.keys(defaults));
  if (unknown !== undefined) throw new TypeError(`backoff: ${unknown}`);
  const { baseMs, maxMs, perSecond, burst } = { ...defaults, ...options };
  const check = (option: string, value: number, isValid: boolean): void => {
    if (!isValid) throw new RangeError(`backoff.${option} must not be ${value}`);
  };
  check('baseMs', baseMs, baseMs > 0 && baseMs < Infinity);
  check('maxMs', maxMs, maxMs >= baseMs && maxMs < Infinity);
  check('perSecond', perSecond, perSecond > 0);
  check('burst', burst, Number.isSafeInteger(burst) && burst >= 1);
}

/** The delays of a queue's failing keys. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #maxMs: number;
  readonly #perMs: number;
  readonly #burst: number;
  /**
   * The number of retries that could run at once, as of {@link #asOfMs}; when negative, the number that wait for their
   * turn.
   */
  #tokens: number;
  #asOfMs = -Infinity;

  /** Throws RangeError that names the wrong option. */
  constructor(options: BackoffOptions) {
    checkBackoff(options);
    const { maxMs, perSecond, burst } = { ...defaults, ...options };
    this.#options = options;
    this.#maxMs = maxMs;
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /**
   * Returns the delay after this many failures of a key in a row, of which the last happened now. Each call uses up one
   * turn of the rate.
   */
  delayMs(failures: number, nowMs: number): number {
    return Math.max(backoffDelayMs(failures, this.#options), this.#turnMs(nowMs));
  }

  /** Returns the time until the next turn that the rate allows; never more than the maximum delay. */
  #turnMs(nowMs: number): number {
    if (this.#perMs === Infinity) return 0;
    const gained = this.#asOfMs === -Infinity ? 0 : (nowMs - this.#asOfMs) * this.#perMs;
    this.#asOfMs = nowMs;
    const left = Math.min(this.#burst, this.#tokens + gained) - 1;
    this.#tokens = Math.max(left, -this.#maxMs * this.#perMs);
    return Math.max(0, -this.#tokens / this.#perMs);
  }
}
