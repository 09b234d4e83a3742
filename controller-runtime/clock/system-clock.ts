import { randomUUID } from 'node:crypto';
import type { Clock } from '../api/index.ts';

/** Longest delay that the runtime's timers hold; beyond it they fire at once. */
const maxDelayMs = 2 ** 31 - 1;

/**
 * The real time. Handed in at the composition root, never imported by what is below it.
 * A delay beyond 24.8 days fires after 24.8 days: who waits longer looks at the time and waits again.
 */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout: (callback: () => void, delayMs: number) => setTimeout(callback, Math.min(delayMs, maxDelayMs)),
  clearTimeout: (timer: object | undefined) => clearTimeout(timer as NodeJS.Timeout | undefined),
});

/** Real chance, handed in beside the real time: a random UUID at each call. */
export const systemUuid: () => string = () => randomUUID();

/** The same for numbers in [0, 1): jitter. */
export const systemRandom: () => number = () => Math.random();
