import { eventually } from '@homeostat/controller-runtime/testing';
import type { FakeClock } from '@homeostat/controller-runtime/testing';

/** The interval between compactions of the history. */
const compactionMs = 30_000;

/**
 * Advances the clock over `count` compactions. A compaction queries the database, in real time, before it sets the
 * timer of the next one. Other code must not set or clear a timer in the meantime.
 */
export async function passCompactions(clock: FakeClock, count: number): Promise<void> {
  const timers = clock.pendingTimers;
  for (let passed = 0; passed < count; passed += 1) {
    await clock.advance(compactionMs);
    await eventually(() => clock.pendingTimers === timers, { describe: 'the next compaction to be due' });
  }
}
