import type { Clock } from '@homeostat/controller-runtime/api';

/** The maximum durations of the first wait, and of any wait. */
const firstWaitMs = 30;
const maxWaitMs = 1000;

export interface Waiting {
  readonly clock: Clock;
  /** Returns a random number from 0 to below 1, with a uniform distribution. */
  readonly random: () => number;
}

/**
 * Waits for a random time before a process takes over from another process, so that the other one can finish its write.
 * The maximum of the wait doubles each time the process loses its claim before it can commit, up to a second: a commit
 * to a busy database takes longer than the first wait.
 */
export function waitForTurn({ clock, random }: Waiting, lost: number): Promise<void> {
  const longestMs = Math.min(maxWaitMs, firstWaitMs * 2 ** lost);
  return new Promise((resolve) => clock.setTimeout(resolve, random() * longestMs));
}
