import { randomUUID } from 'node:crypto';
import type { Clock } from '../api/index.ts';

/** The longest delay that JavaScript's `setTimeout` accepts. With a longer delay, a timer would fire at once. */
const maxDelayMs = 2 ** 31 - 1;

/**
 * The clock of the system. Only the code that assembles a program imports it, and passes it to all other code. A timer
 * fires after at most 24.8 days, so a caller that needs a longer wait has to check the time and set the timer again.
 */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout: (callback: () => void, delayMs: number) => setTimeout(callback, Math.min(delayMs, maxDelayMs)),
  clearTimeout: (timer: object | undefined) => clearTimeout(timer as NodeJS.Timeout | undefined),
});

/** Returns a random UUID at each call. Like the clock, it is passed to the code that needs it. */
export const systemUuid: () => string = () => randomUUID();

/** Returns a random number in [0, 1) at each call, for jitter. */
export const systemRandom: () => number = () => Math.random();
