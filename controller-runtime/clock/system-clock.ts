import { randomUUID } from 'node:crypto';
import type { Clock } from '../api/index.ts';

/** The longest delay that the runtime's timers accept; with a longer one they would fire at once. */
const maxDelayMs = 2 ** 31 - 1;

/**
 * The real time. Only the places where a program is put together import it, and pass it to all other parts. A timer
 * fires after at most 24.8 days, so a caller that waits longer has to check the time and wait again.
 */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout: (callback: () => void, delayMs: number) => setTimeout(callback, Math.min(delayMs, maxDelayMs)),
  clearTimeout: (timer: object | undefined) => clearTimeout(timer as NodeJS.Timeout | undefined),
});

/** Returns a random UUID at each call; it is passed in like the real time. */
export const systemUuid: () => string = () => randomUUID();

/** Returns a random number in [0, 1) at each call, for jitter. */
export const systemRandom: () => number = () => Math.random();
