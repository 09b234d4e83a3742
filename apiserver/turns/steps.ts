import { nextTurn } from './next-turn.ts';
import type { Purpose } from './turn-queue.ts';

/**
 * Work that may pause where it yields. Each single step is short. A step yields `long` when the work turns out to take
 * long; then the following steps are done in several turns of the event loop.
 */
export type Steps<R> = Generator<'long' | undefined, R, undefined>;

/**
 * Runs the steps of a request: without a pause until one yields `long`, and then in several turns of the event loop;
 * with `isLong`, in several turns from the beginning.
 */
export function runSteps<R>(steps: Steps<R>, isLong: boolean): R | Promise<R> {
  if (isLong) return byTurns(steps, 'request');
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (step.value === 'long') return byTurns(steps, 'request');
  }
}

/** Runs all steps without a pause, for work that is known to be short. */
export function allSteps<R>(steps: Steps<R>): R {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Work that pauses once, and then does everything in one step. */
export function* oneStep<R>(step: () => R): Steps<R> {
  yield;
  return step();
}

/**
 * Calls `follow`: immediately with the value if it is not a promise, or with the result of the promise once it has
 * resolved.
 */
export function afterwards<A, B>(value: A | Promise<A>, follow: (value: A) => B | Promise<B>): B | Promise<B> {
  return value instanceof Promise ? value.then(follow) : follow(value);
}

/** Runs steps of the server's own work in several turns of the event loop. */
export async function runInTurns<R>(steps: Steps<R>, purpose: Purpose = 'background'): Promise<R> {
  return byTurns(steps, purpose);
}

async function byTurns<R>(steps: Steps<R>, purpose: Purpose): Promise<R> {
  for (;;) {
    await nextTurn(purpose);
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
