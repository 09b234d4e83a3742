import { systemClock } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';

/** Returns a clock that runs faster than real time, for code that waits on a real network. */
export function hurriedClock(times: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonicMs: () => systemClock.monotonicMs() * times,
    setTimeout: (callback, delayMs) => systemClock.setTimeout(callback, delayMs / times),
    clearTimeout: (timer) => systemClock.clearTimeout(timer),
  };
}
