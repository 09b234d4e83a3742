import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { ConnectionLink, type LinkedConnection } from './connection-link.ts';
import { rejectionOf } from '../store-operations.fixture.ts';

class FakeConnection implements LinkedConnection {
  isLost = false;
  isEnded = false;

  async end(): Promise<void> {
    this.isEnded = true;
  }
}

describe('ConnectionLink', () => {
  let clock: FakeClock;
  let link: ConnectionLink<FakeConnection>;
  let attempts: number[];
  let failure: Error | undefined;
  let told: string[];

  beforeEach(() => {
    clock = new FakeClock();
    [attempts, failure, told] = [[], undefined, []];
    link = new ConnectionLink<FakeConnection>({
      connect: async () => {
        attempts.push(clock.monotonicMs());
        if (failure) throw failure;
        return new FakeConnection();
      },
      clock,
      onDown: (error) => told.push(`down: ${String(error)}`),
      onUp: () => told.push('up'),
    });
  });

  afterEach(async () => {
    await link.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  it('fails to open at once, without a second attempt', async () => {
    failure = new Error('refused');
    expect(await rejectionOf(link.open())).to.equal(failure);
    await clock.advance(60_000);
    expect(attempts).to.deep.equal([0]);
  });

  it('gives the same connection until it is lost, and then another', async () => {
    const first = await link.open();
    expect(await link.get()).to.equal(first);
    first.isLost = true;
    expect(link.current).to.equal(undefined);
    const second = await link.get();
    expect(second).to.not.equal(first);
    expect([link.current === second, told]).to.deep.equal([true, ['up']]);
  });

  it('tries again with back-off, up to every 5 s, and tells of the first failure alone', async () => {
    (await link.open()).isLost = true;
    failure = new Error('gone');
    const waiting = rejectionOf(link.get());
    await clock.advance(30_000);
    await waiting;
    const gaps = attempts.slice(2).map((at, n) => at - (attempts[n + 1] ?? 0));
    expect(gaps.slice(0, 7)).to.deep.equal([50, 100, 200, 400, 800, 1600, 3200]);
    expect(gaps.at(-1)).to.equal(5000);
    failure = undefined;
    await clock.advance(5000);
    expect(told).to.deep.equal(['down: Error: gone', 'up']);
    expect((await link.get()).isLost).to.equal(false);
  });

  it('lets callers wait 5 s from the loss on, and fails at once after that', async () => {
    (await link.open()).isLost = true;
    failure = new Error('gone');
    let isOver = false;
    const waiting = rejectionOf(link.get()).finally(() => (isOver = true));
    await clock.advance(4999);
    expect(isOver).to.equal(false);
    await clock.advance(1);
    expect(await waiting).to.equal(failure);
    expect(await rejectionOf(link.get())).to.equal(failure);
  });

  it('tells whoever waits that it was closed, and ends a connection that comes too late', async () => {
    (await link.open()).isLost = true;
    failure = new Error('gone');
    const waiting = rejectionOf(link.get());
    await clock.advance(1000);
    await link.close();
    expect(await waiting).to.include({ code: 'closed' });
    const late = new FakeConnection();
    let finish = (_: FakeConnection): void => undefined;
    const slow = new ConnectionLink<FakeConnection>({
      connect: () => new Promise((resolve) => (finish = resolve)),
      clock,
    });
    const opening = slow.open();
    finish(new FakeConnection());
    (await opening).isLost = true;
    const reconnected = rejectionOf(slow.get());
    const closing = slow.close();
    finish(late);
    await closing;
    expect([await reconnected, late.isEnded]).to.have.nested.property('[0].code', 'closed');
    expect(late.isEnded).to.equal(true);
  });
});
