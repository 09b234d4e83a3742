import type { Clock } from '@homeostat/controller-runtime/api';

/**
 * The maximum duration of the first wait of {@link waitForTurn}. The maximum doubles for each further wait for the same
 * write, up to `maxWaitMs`.
 */
const firstWaitMs = 30;
const maxWaitMs = 1000;

export interface Waiting {
  readonly clock: Clock;
  /** Returns a random number from 0 to below 1, with a uniform distribution. */
  readonly random: () => number;
}

/**
 * Some writes, such as creations under a quota, may be committed by only one process at a time. This function waits for
 * a random time before this process takes that right from another process, so that the other one can finish its write.
 * `lost` is the number of earlier waits after which this process lost the right before it could commit. The maximum
 * wait doubles with each of them, up to a second: a commit to a busy database takes longer than the first wait.
 */
export function waitForTurn({ clock, random }: Waiting, lost: number): Promise<void> {
  const longestMs = Math.min(maxWaitMs, firstWaitMs * 2 ** lost);
  return new Promise((resolve) => clock.setTimeout(resolve, random() * longestMs));
}
