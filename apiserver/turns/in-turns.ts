import { runInTurns } from './steps.ts';
import type { Steps } from './steps.ts';

/** Work that says, where it may be put aside, how many units it has done since the last time. */
export type MeasuredWork<R> = Generator<number, R>;

/** The steps of measured work: each ends once it has done so many units. */
export function* stepsOf<R>(work: MeasuredWork<R>, unitsPerStep: number): Steps<R> {
  let done = 0;
  for (;;) {
    const part = work.next();
    if (part.done === true) return part.value;
    done += part.value;
    if (done < unitsPerStep) continue;
    done = 0;
    yield;
  }
}

/** Does measured work of the server's own in several turns of the event loop. Rejects with what the work throws. */
export async function inTurns<R>(work: MeasuredWork<R>, unitsPerStep: number): Promise<R> {
  return runInTurns(stepsOf(work, unitsPerStep));
}

/** The same without a pause. */
export function atOnce<R>(work: MeasuredWork<R>): R {
  for (;;) {
    const part = work.next();
    if (part.done === true) return part.value;
  }
}
