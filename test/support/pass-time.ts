import { eventually } from '@homeostat/controller-runtime/testing';
import type { FakeClock } from '@homeostat/controller-runtime/testing';

/** How often the server looks for history that may go. */
const compactionMs = 30_000;

/**
 * Lets so many compactions pass. Each asks the database, in real time, before it sets the timer of the next one; nothing
 * else may begin or end a timer meanwhile.
 */
export async function passCompactions(clock: FakeClock, count: number): Promise<void> {
  const timers = clock.pendingTimers;
  for (let passed = 0; passed < count; passed += 1) {
    await clock.advance(compactionMs);
    await eventually(() => clock.pendingTimers === timers, { describe: 'the next compaction to be due' });
  }
}
