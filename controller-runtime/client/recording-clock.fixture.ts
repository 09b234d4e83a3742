import type { Timer } from '../api/index.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';

/** A fake clock that records the delay of each timer, so that a test can advance the time after a timer was set. */
export class RecordingClock extends FakeClock {
  readonly delaysMs: number[] = [];

  override setTimeout(callback: () => void, delayMs: number): Timer {
    this.delaysMs.push(delayMs);
    return super.setTimeout(callback, delayMs);
  }
}
