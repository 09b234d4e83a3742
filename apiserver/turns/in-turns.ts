import { runInTurns } from './steps.ts';
import type { Steps } from './steps.ts';

/** Work that yields where it may pause, each time with the number of units done since the last pause. */
export type MeasuredWork<R> = Generator<number, R>;

/** Splits measured work into steps, each of which ends once it has done the given number of units. */
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

/** Does measured work at once, without a pause. */
export function atOnce<R>(work: MeasuredWork<R>): R {
  for (;;) {
    const part = work.next();
    if (part.done === true) return part.value;
  }
}
