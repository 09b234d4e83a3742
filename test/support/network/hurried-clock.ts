import { systemClock } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';

/** Real time, multiplied: for code that waits by itself, on a real network. */
export function hurriedClock(times: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonicMs: () => systemClock.monotonicMs() * times,
    setTimeout: (callback, delayMs) => systemClock.setTimeout(callback, delayMs / times),
    clearTimeout: (timer) => systemClock.clearTimeout(timer),
  };
}
