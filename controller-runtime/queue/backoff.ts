import { unknownKeyOf } from '../api/index.ts';

export interface BackoffOptions {
  /** The delay after the first failure. Default 5 ms. */
  readonly baseMs?: number;
  /** The longest delay. Default 1,000,000 ms (1000 s). */
  readonly maxMs?: number;
  /**
   * The maximum average number of retries per second, for all keys together. A key waits for its own delay, or until
   * the rate allows its retry, whichever takes longer, but at most for `maxMs`. Default: no limit.
   */
  readonly perSecond?: number;
  /** The number of retries that the rate allows at once after a time without retries. Default 100. */
  readonly burst?: number;
}

const defaults = { baseMs: 5, maxMs: 1_000_000, perSecond: Infinity, burst: 100 } as const;

/**
 * Returns the delay after this many failures in a row; 0 counts as 1. The first delay is the base, and each further
 * failure doubles the delay, up to the maximum.
 */
export function backoffDelayMs(failures: number, options: Pick<BackoffOptions, 'baseMs' | 'maxMs'> = {}): number {
  const { baseMs = defaults.baseMs, maxMs = defaults.maxMs } = options;
  // 2 ** 1024 is Infinity, for which Math.min still returns maxMs, so no number of failures is too large.
  return Math.min(baseMs * 2 ** (Math.max(1, failures) - 1), maxMs);
}

/**
 * Checks the options. Throws RangeError for an invalid value, and TypeError for an unknown option; the error names the
 * option.
 */
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

/** Computes the delays of a queue's failing keys. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #maxMs: number;
  readonly #perMs: number;
  readonly #burst: number;
  /**
   * The number of retries that the rate allowed at the time {@link #asOfMs}. A negative number is the number of retries
   * that wait for the rate.
   */
  #tokens: number;
  #asOfMs = -Infinity;

  /** Throws the errors of {@link checkBackoff}. */
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
   * Returns the delay before the next attempt of a key that has failed `failures` times in a row. Call this method once
   * for each failure, when it happens, because each call uses up one of the retries that `perSecond` allows.
   */
  delayMs(failures: number, nowMs: number): number {
    return Math.max(backoffDelayMs(failures, this.#options), this.#turnMs(nowMs));
  }

  /** Returns the time until the rate allows the next retry; never more than the maximum delay. */
  #turnMs(nowMs: number): number {
    if (this.#perMs === Infinity) return 0;
    const gained = this.#asOfMs === -Infinity ? 0 : (nowMs - this.#asOfMs) * this.#perMs;
    this.#asOfMs = nowMs;
    const left = Math.min(this.#burst, this.#tokens + gained) - 1;
    this.#tokens = Math.max(left, -this.#maxMs * this.#perMs);
    return Math.max(0, -this.#tokens / this.#perMs);
  }
}
