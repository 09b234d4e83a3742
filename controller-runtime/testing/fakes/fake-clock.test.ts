import { expect } from 'chai';
import { FakeClock } from './fake-clock.ts';

describe('FakeClock', () => {
  it('does not advance by itself', async () => {
    const clock = new FakeClock(1000);
    await new Promise((resolve) => setImmediate(resolve));
    expect([clock.now(), clock.monotonicMs()]).to.deep.equal([1000, 0]);
    await clock.advance(250);
    expect([clock.now(), clock.monotonicMs()]).to.deep.equal([1250, 250]);
  });

  it('runs due timers in the order of their times, and timers of the same time in the order in which they were set', async () => {
    const clock = new FakeClock();
    const ran: string[] = [];
    clock.setTimeout(() => ran.push('20'), 20);
    clock.setTimeout(() => ran.push('10 first'), 10);
    clock.setTimeout(() => ran.push('10 second'), 10);
    clock.setTimeout(() => ran.push('30'), 30);
    await clock.advance(20);
    expect(ran).to.deep.equal(['10 first', '10 second', '20']);
    expect(clock.pendingTimers).to.equal(1);
  });

  it('runs timers that callbacks and their promises set, each at its own time', async () => {
    const clock = new FakeClock();
    const times: number[] = [];
    clock.setTimeout(async () => {
      times.push(clock.monotonicMs());
      await Promise.resolve();
      clock.setTimeout(() => times.push(clock.monotonicMs()), 5);
    }, 10);
    await clock.advance(100);
    expect(times).to.deep.equal([10, 15]);
  });

  it('does not run timers that were cleared, even if they are due', async () => {
    const clock = new FakeClock();
    const ran: string[] = [];
    const second = clock.setTimeout(() => ran.push('second'), 10);
    clock.setTimeout(() => clock.clearTimeout(second), 5);
    await clock.advance(10);
    clock.clearTimeout(undefined);
    expect(ran).to.deep.equal([]);
  });

  it('runUntil advances the clock until its condition is true, and no further', async () => {
    const clock = new FakeClock();
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      clock.setTimeout(tick, 100);
    };
    tick();
    await clock.runUntil(() => ticks === 4);
    expect(clock.monotonicMs()).to.equal(300);
  });

  it('runUntil rejects when its condition has not become true at the time limit', async () => {
    const clock = new FakeClock();
    const error = await clock
      .runUntil(() => false, 50)
      .then(
        () => undefined,
        (reason: unknown) => reason,
      );
    expect(error).to.be.an('error').with.property('message').that.contains('50 ms');
  });
});
