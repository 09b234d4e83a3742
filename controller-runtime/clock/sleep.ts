import type { Clock } from '../api/index.ts';

/** Resolves after a delay (milliseconds), or as soon as the signal aborts. Never rejects. */
export async function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clock.clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.setTimeout(finish, delayMs);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/**
 * Waits until work ends, for at most `limitMs`, and leaves no timer. Resolves with true when the work has ended by
 * then, and otherwise with false; rejects when the work has failed.
 */
export async function endsWithin(clock: Clock, limitMs: number, work: Promise<unknown>): Promise<boolean> {
  const waiting = new AbortController();
  try {
    return await Promise.race([work.then(() => true), sleep(clock, limitMs, waiting.signal).then(() => false)]);
  } finally {
    waiting.abort();
  }
}
