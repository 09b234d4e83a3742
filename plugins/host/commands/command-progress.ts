import { systemClock } from '@homeostat/controller-runtime';
import { Progress } from '../text/progress.ts';

const tickMs = 500;

/** Returns a progress display on stderr, because stdout may have the output of the command. */
export function commandProgress(what: string, unit: string): Progress {
  return new Progress({ stream: process.stderr, what, unit, nowMs: () => systemClock.now() });
}

/** Shows for how many seconds some work has been running, because the work has nothing to count. */
export async function withSeconds<V>(what: string, work: () => Promise<V>): Promise<V> {
  const progress = commandProgress(what, 's');
  const beganMs = systemClock.now();
  const timer = setInterval(() => progress.show(Math.floor((systemClock.now() - beganMs) / 1000)), tickMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    progress.end();
  }
}
