import { TurnQueue } from './turn-queue.ts';
import type { Purpose } from './turn-queue.ts';

/** The time of the event loop, whatever clock a server has. */
// oxlint-disable-next-line homeostat/no-ambient-time-or-chance -- the one place that reads it
const eventLoopMs = (): number => performance.now();

let clockMs = eventLoopMs;

/** The queue of the process, as there is one event loop. */
const turns = new TurnQueue(() => clockMs());

/**
 * Resolves when the caller may do its next step: in a later turn of the event loop, or while the present one has time.
 */
export function nextTurn(purpose: Purpose = 'request'): Promise<void> {
  return turns.next(purpose);
}

/**
 * Makes the queue of the process read another monotonic clock, so that a test decides how long each step takes. Returns a
 * function that restores the event loop's own. No entry of the package exports it.
 */
export function replaceTurnClock(nowMs: () => number): () => void {
  clockMs = nowMs;
  return () => (clockMs = eventLoopMs);
}
