import { expect } from 'chai';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { sleep } from './sleep.ts';

describe('sleep', () => {
  it('ends after its time, not before', async () => {
    const clock = new FakeClock();
    let isOver = false;
    const sleeping = sleep(clock, 100).then(() => (isOver = true));
    await clock.advance(99);
    expect(isOver).to.equal(false);
    await clock.advance(1);
    await sleeping;
  });

  it('ends when the signal aborts, and leaves no timer', async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const sleeping = sleep(clock, 100, abort.signal);
    abort.abort();
    await sleeping;
    await sleep(clock, 100, abort.signal);
    expect(clock.pendingTimers).to.equal(0);
  });
});
