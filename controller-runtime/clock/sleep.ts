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
