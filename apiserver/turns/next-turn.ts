import { TurnQueue } from './turn-queue.ts';
import type { Purpose } from './turn-queue.ts';

/** The queue of the process, as there is one event loop. */
// oxlint-disable-next-line homeostat/no-ambient-time-or-chance -- it measures the event loop's own time, whatever time a server lives in
const turns = new TurnQueue(() => performance.now());

/** Resolves when the caller may do its next step: in a later turn of the event loop, or while the present one has time. */
export function nextTurn(purpose: Purpose = 'request'): Promise<void> {
  return turns.next(purpose);
}
