import { expect } from 'chai';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { endsWithin, sleep } from './sleep.ts';

describe('sleep', () => {
  it('resolves when its delay has passed, and not before', async () => {
    const clock = new FakeClock();
    let isOver = false;
    const sleeping = sleep(clock, 100).then(() => (isOver = true));
    await clock.advance(99);
    expect(isOver).to.equal(false);
    await clock.advance(1);
    await sleeping;
  });

  it('resolves when the signal aborts, and leaves no timer', async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const sleeping = sleep(clock, 100, abort.signal);
    abort.abort();
    await sleeping;
    await sleep(clock, 100, abort.signal);
    expect(clock.pendingTimers).to.equal(0);
  });
});

describe('endsWithin', () => {
  it('resolves to true when the work ends within the limit, and leaves no timer', async () => {
    const clock = new FakeClock();
    expect(await endsWithin(clock, 100, Promise.resolve('done'))).to.equal(true);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('resolves to false after the limit when the work has not ended', async () => {
    const clock = new FakeClock();
    const waiting = endsWithin(clock, 100, new Promise(() => undefined));
    await clock.advance(100);
    expect(await waiting).to.equal(false);
  });

  it('rejects with the error of the work, and leaves no timer', async () => {
    const clock = new FakeClock();
    const failed = new Error('made up');
    expect(await endsWithin(clock, 100, Promise.reject(failed)).catch((error: unknown) => error)).to.equal(failed);
    expect(clock.pendingTimers).to.equal(0);
  });
});
