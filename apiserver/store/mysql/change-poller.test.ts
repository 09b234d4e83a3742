import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { ChangePoller } from './change-poller.ts';

describe('ChangePoller', () => {
  let clock: FakeClock;
  let poller: ChangePoller;
  let revision: number;
  let looks: number[];
  let woken: number[];
  let failure: Error | undefined;

  beforeEach(() => {
    clock = new FakeClock();
    [revision, looks, woken, failure] = [5, [], [], undefined];
    const read = async (): Promise<number> => {
      looks.push(clock.monotonicMs());
      if (failure) throw failure;
      return revision;
    };
    poller = new ChangePoller({ read, revision, clock });
  });

  afterEach(async () => {
    await poller.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  const listen = (): (() => void) => poller.subscribe((each) => woken.push(each));

  it('looks while somebody listens, and only then', async () => {
    await clock.advance(1000);
    expect(looks).to.deep.equal([]);
    const stop = listen();
    await clock.advance(1000);
    const before = looks.length;
    stop();
    await clock.advance(1000);
    expect([before > 0, looks.length]).to.deep.equal([true, before]);
  });

  it('looks every 10 ms, and without news less and less often, down to every 50 ms', async () => {
    listen();
    await clock.advance(2000);
    const gaps = looks.map((at, n) => at - (looks[n - 1] ?? 0));
    expect(gaps[0]).to.equal(10);
    expect(gaps.every((gap, n) => gap >= 10 && gap <= 50 && gap >= (gaps[n - 1] ?? 0))).to.equal(true);
    expect(gaps.at(-1)).to.equal(50);
    revision = 6;
    const before = looks.length;
    await clock.advance(80);
    expect(woken).to.deep.equal([6]);
    expect(looks.length - before).to.be.above(2);
  });

  it('tells each revision once, whoever learns it first', async () => {
    listen();
    poller.notice(6);
    revision = 6;
    await clock.advance(200);
    poller.notice(6);
    revision = 9;
    await clock.advance(200);
    poller.notice(8);
    expect(woken).to.deep.equal([6, 9]);
  });

  it('goes on after a failure, more slowly', async () => {
    listen();
    failure = new Error('lost');
    await clock.advance(2000);
    expect(looks.length).to.be.within(3, 5);
    failure = undefined;
    revision = 6;
    await clock.advance(500);
    expect(woken).to.deep.equal([6]);
  });

  it('keeps one pace when everybody leaves and comes back during a look', async () => {
    const stop = listen();
    await clock.advance(2000);
    stop();
    listen();
    const before = looks.length;
    await clock.advance(1000);
    expect(looks.length - before).to.be.within(19, 21);
  });
});
