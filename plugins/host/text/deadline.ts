import type { Clock } from '@homeostat/controller-runtime/api';
import { orAbort } from './or-abort.ts';

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
