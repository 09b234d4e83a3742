import type { Timer } from '../api/index.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';

/** A fake clock that a test can ask which waits were begun, so as to move time only once one has. */
export class RecordingClock extends FakeClock {
  readonly delaysMs: number[] = [];

  override setTimeout(callback: () => void, delayMs: number): Timer {
    this.delaysMs.push(delayMs);
    return super.setTimeout(callback, delayMs);
  }
}
