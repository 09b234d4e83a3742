import { TurnQueue } from './turn-queue.ts';
import type { Purpose } from './turn-queue.ts';

/** Returns the real time. Turns of the event loop take real time even when a server has a fake clock. */
// oxlint-disable-next-line homeostat/no-ambient-time-or-chance -- the only function that reads the real clock
const eventLoopMs = (): number => performance.now();

let clockMs = eventLoopMs;

/** The queue of the process. There is only one, because there is one event loop. */
const turns = new TurnQueue(() => clockMs());

/**
 * Resolves when the caller may do its next step: in a later turn of the event loop, or in the current turn while it has
 * time left.
 */
export function nextTurn(purpose: Purpose = 'request'): Promise<void> {
  return turns.next(purpose);
}

/**
 * Makes the queue of the process read another monotonic clock, so that a test decides how long each step takes. Returns
 * a function that restores the real clock. The package does not export `replaceTurnClock`.
 */
export function replaceTurnClock(nowMs: () => number): () => void {
  clockMs = nowMs;
  return () => (clockMs = eventLoopMs);
}
