import type { Clock } from '@homeostat/controller-runtime/api';

export interface DeadlineOptions {
  /** Names the work in the error. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Gives the wait up; rejects with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Waits for work that need not ever end: rejects when the time is over or the signal aborts. The work itself cannot be
 * stopped; how it ends later is nobody's concern any more.
 */
export async function withDeadline<V>(work: () => V | Promise<V>, options: DeadlineOptions): Promise<V> {
  const { what, timeoutMs, clock, signal } = options;
  signal?.throwIfAborted();
  return new Promise<V>((resolve, reject) => {
    const onAbort = (): void => settle(() => reject(signal?.reason as Error));
    const onTimeout = (): void => settle(() => reject(new Error(`${what} has not ended within ${timeoutMs / 1000} s`)));
    const timer = clock.setTimeout(onTimeout, timeoutMs);
    const settle = (end: () => void): void => {
      clock.clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      end();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    (async () => work())().then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error as Error)),
    );
  });
}
