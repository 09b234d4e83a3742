import type { Clock } from '@homeostat/controller-runtime/api';

/** The upper bounds of waits: of the first one, and of any. */
const firstWaitMs = 30;
const maxWaitMs = 1000;

export interface Waiting {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * Waits before a process takes its turn from another one that is also working. The longest wait doubles with each turn
 * that it has lost before, since on a busy database a turn takes longer than the first wait.
 */
export function waitForTurn({ clock, random }: Waiting, lost: number): Promise<void> {
  const longestMs = Math.min(maxWaitMs, firstWaitMs * 2 ** lost);
  return new Promise((resolve) => clock.setTimeout(resolve, random() * longestMs));
}
