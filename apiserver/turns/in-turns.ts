import { runInTurns } from './steps.ts';
import type { Steps } from './steps.ts';

/** Work that yields where it may pause. It yields the number of units of work since the last pause. */
export type MeasuredWork<R> = Generator<number, R>;

/** Splits measured work into steps. A step ends once it has done the given number of units. */
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

/**
 * Runs measured work of the server itself in several turns of the event loop. Rejects with the error that the work
 * throws.
 */
export async function inTurns<R>(work: MeasuredWork<R>, unitsPerStep: number): Promise<R> {
  return runInTurns(stepsOf(work, unitsPerStep));
}

/** Runs {@link MeasuredWork} to its end in one turn of the event loop. */
export function atOnce<R>(work: MeasuredWork<R>): R {
  for (;;) {
    const part = work.next();
    if (part.done === true) return part.value;
  }
}
