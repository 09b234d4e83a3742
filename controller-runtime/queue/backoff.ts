export interface BackoffOptions {
  /** Delay after the first failure. Default 5 ms. */
  readonly baseMs?: number;
  /** No delay is longer. Default 1,000,000 ms (1000 s). */
  readonly maxMs?: number;
}

/** Delay after so many failures in a row (from 1): the base, doubled by each further failure, up to the maximum. */
export function backoffDelayMs(failures: number, options: BackoffOptions = {}): number {
  const { baseMs = 5, maxMs = 1_000_000 } = options;
  // 2 ** 1024 is Infinity, of which the minimum is still maxMs: no failure count overflows.
  return Math.min(baseMs * 2 ** (Math.max(1, failures) - 1), maxMs);
}
