import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { ChangeSubscription } from './change-subscription.ts';

const intervals = { minMs: 10, maxMs: 50, failedMs: 500 } as const;

describe('ChangeSubscription', () => {
  let clock: FakeClock;
  let subscription: ChangeSubscription;
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
    subscription = new ChangeSubscription({ read, clock, intervals }, revision);
  });

  afterEach(async () => {
    await subscription.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  const listen = (): (() => void) => subscription.subscribe((each) => woken.push(each));

  it('polls only while there are listeners', async () => {
    await clock.advance(1000);
    expect(looks).to.deep.equal([]);
    const stop = listen();
    await clock.advance(1000);
    const before = looks.length;
    stop();
    await clock.advance(1000);
    expect([before > 0, looks.length]).to.deep.equal([true, before]);
  });

  it('polls every 10 ms; without new revisions, the interval grows up to 50 ms', async () => {
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

  it('reports each revision once, from a poll or a notice, whichever comes first', async () => {
    listen();
    subscription.notice(6);
    revision = 6;
    await clock.advance(200);
    subscription.notice(6);
    revision = 9;
    await clock.advance(200);
    subscription.notice(8);
    expect(woken).to.deep.equal([6, 9]);
  });

  it('reports the revision of a restarted history even if it is lower than the previous one', () => {
    listen();
    subscription.notice(9);
    subscription.restart(3);
    subscription.notice(3);
    subscription.notice(4);
    expect(woken).to.deep.equal([9, 3, 4]);
  });

  it('starts its source at the first listener, polls when the source calls look(), and resolves close() only after the source has closed', async () => {
    const events: string[] = [];
    let end = (): void => undefined;
    let source: Pick<ChangeSubscription, 'notice' | 'look'> | undefined;
    const hear = (given: typeof source): { close(): Promise<void> } => {
      events.push('start');
      source = given;
      return { close: () => new Promise((resolve) => (end = resolve)) };
    };
    const slow = { minMs: 1000, maxMs: 1000, failedMs: 1000 };
    const read = async (): Promise<number> => looks.push(clock.monotonicMs());
    const heard = new ChangeSubscription({ read, clock, intervals: slow, hear }, 5);
    expect(events).to.deep.equal([]);
    const stops = [1, 2].map(() => heard.subscribe((each) => woken.push(each)));
    await clock.advance(300);
    source?.look();
    source?.notice(7);
    source?.notice(Number('nothing'));
    await clock.advance(1000);
    expect([events, looks, woken]).to.deep.equal([['start'], [300, 1300], [7, 7]]);
    for (const stop of stops) stop();
    const closing = heard.close().then(() => events.push('closed'));
    await clock.advance(1000);
    expect(events).to.deep.equal(['start']);
    end();
    await closing;
    expect([events, looks.length]).to.deep.equal([['start', 'closed'], 2]);
  });

  it('polls less often after a failed read, and continues', async () => {
    listen();
    failure = new Error('lost');
    await clock.advance(2000);
    expect(looks.length).to.be.within(3, 5);
    failure = undefined;
    revision = 6;
    await clock.advance(500);
    expect(woken).to.deep.equal([6]);
  });

  it('does not poll more often after the last listener has unsubscribed and another one has subscribed', async () => {
    const stop = listen();
    await clock.advance(2000);
    stop();
    listen();
    const before = looks.length;
    await clock.advance(1000);
    expect(looks.length - before).to.be.within(19, 21);
  });
});
