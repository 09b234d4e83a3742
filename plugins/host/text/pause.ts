import type { Clock } from '@homeostat/controller-runtime/api';

/** Resolves after a delay, or as soon as the signal aborts. */
export async function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.setTimeout(finish, delayMs);
    signal.addEventListener('abort', finish, { once: true });
  });
}
