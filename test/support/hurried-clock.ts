import { systemClock } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';

/** Real time, so many times as fast: for what waits by itself, on a network that is real. */
export function hurriedClock(times: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonicMs: () => systemClock.monotonicMs() * times,
    setTimeout: (callback, delayMs) => systemClock.setTimeout(callback, delayMs / times),
    clearTimeout: (timer) => systemClock.clearTimeout(timer),
  };
}
