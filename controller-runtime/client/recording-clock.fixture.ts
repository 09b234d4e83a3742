import type { Timer } from '../api/index.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';

/**
 * A fake clock that records the delay of each timer, so that a test can wait until a timer is set, and then advance the
 * time.
 */
export class RecordingClock extends FakeClock {
  readonly delaysMs: number[] = [];

  override setTimeout(callback: () => void, delayMs: number): Timer {
    this.delaysMs.push(delayMs);
    return super.setTimeout(callback, delayMs);
  }
}
