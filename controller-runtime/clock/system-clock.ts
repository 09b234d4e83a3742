import { randomUUID } from 'node:crypto';
import type { Clock } from '../api/index.ts';

/** The longest delay that the runtime's timers accept; with a longer one they would fire at once. */
const maxDelayMs = 2 ** 31 - 1;

/**
 * The real time. Passed in at the composition root, and imported nowhere else. A longer delay fires after 24.8 days,
 * so a caller that waits longer has to check the time and wait again.
 */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout: (callback: () => void, delayMs: number) => setTimeout(callback, Math.min(delayMs, maxDelayMs)),
  clearTimeout: (timer: object | undefined) => clearTimeout(timer as NodeJS.Timeout | undefined),
});

/** Real randomness, passed in beside the real time: a random UUID at each call. */
export const systemUuid: () => string = () => randomUUID();

/** Real randomness for jitter: a number in [0, 1) at each call. */
export const systemRandom: () => number = () => Math.random();
