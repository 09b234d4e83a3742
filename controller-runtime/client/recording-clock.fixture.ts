import type { Timer } from '../api/index.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';

/** A fake clock that records the waits, so that a test can move time only after a wait has begun. */
export class RecordingClock extends FakeClock {
  readonly delaysMs: number[] = [];

  override setTimeout(callback: () => void, delayMs: number): Timer {
    this.delaysMs.push(delayMs);
    return super.setTimeout(callback, delayMs);
  }
}
