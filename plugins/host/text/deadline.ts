import type { Clock } from '@homeostat/controller-runtime/api';

export interface DeadlineParts {
  /** The name of the work in error messages. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** When it aborts, the call rejects with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Waits for work that may never end: rejects after the time limit, or when the signal aborts. The work itself cannot be
 * stopped; its later result is ignored.
 */
export async function withDeadline<V>(work: () => V | Promise<V>, parts: DeadlineParts): Promise<V> {
  const { what, timeoutMs, clock, signal } = parts;
  signal?.throwIfAborted();
  const expiry = new AbortController();
  const expired = new Error(`${what} has not ended within ${timeoutMs / 1000} s`);
  const timer = clock.setTimeout(() => expiry.abort(expired), timeoutMs);
  const end = signal === undefined ? expiry.signal : AbortSignal.any([signal, expiry.signal]);
  try {
    return await orAbort((async () => work())(), end);
  } finally {
    clock.clearTimeout(timer);
  }
}

/**
 * Resolves or rejects with the result of the work. If the signal aborts first, rejects with the signal's reason, and
 * ignores the result of the work.
 */
export async function orAbort<V>(work: Promise<V>, signal: AbortSignal): Promise<V> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
