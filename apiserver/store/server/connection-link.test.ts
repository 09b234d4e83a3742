import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { ConnectionLink, type LinkedConnection, type LinkOptions } from './connection-link.ts';
import { StoreError } from '../store-error.ts';
import { rejectionOf } from '../store-operations.fixture.ts';

class FakeConnection implements LinkedConnection {
  isLost = false;
  isEnded = false;

  async end(): Promise<void> {
    this.isEnded = true;
  }

  destroy(): void {
    this.isLost = true;
  }
}

describe('ConnectionLink', () => {
  let clock: FakeClock;
  let link: ConnectionLink<FakeConnection>;
  let attempts: number[];
  let failure: StoreError | undefined;
  let mayPass: NonNullable<LinkOptions['mayPass']>;
  let told: string[];

  beforeEach(() => {
    clock = new FakeClock();
    [attempts, failure, told] = [[], undefined, []];
    const connect = async (): Promise<FakeConnection> => {
      attempts.push(clock.monotonicMs());
      if (failure) throw failure;
      return new FakeConnection();
    };
    mayPass = (_, wasConnected) => wasConnected;
    link = new ConnectionLink(
      { connect, clock },
      {
        mayPass: (error, wasConnected) => mayPass(error, wasConnected),
        onDown: ({ message }) => told.push(`down: ${message}`),
        onUp: () => told.push('up'),
      },
    );
  });

  afterEach(async () => {
    await link.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  it('rejects open() after the first attempt when the error is permanent', async () => {
    failure = new StoreError('refused', 'no');
    expect(await rejectionOf(link.open())).to.equal(failure);
    await clock.advance(60_000);
    expect(attempts).to.deep.equal([0]);
  });

  it('waits up to 5 s until the server has started, and then opens or fails', async () => {
    mayPass = () => true;
    failure = new StoreError('io', 'starting');
    const opening = link.open();
    await clock.advance(4000);
    failure = undefined;
    await clock.advance(1000);
    expect([await opening, told]).to.deep.equal([link.current, []]);
    const other = new ConnectionLink<FakeConnection>({ connect: () => Promise.reject(new Error('starting')), clock });
    const refused = rejectionOf(other.open());
    await clock.advance(7000);
    expect(await refused).to.include({ code: 'io', message: 'cannot connect to the database: starting' });
  });

  it('opens even if the first attempt to connect takes a minute', async () => {
    let finish = (): void => undefined;
    const migrated = new Promise<void>((resolve) => (finish = resolve));
    const connect = (): Promise<FakeConnection> => migrated.then(() => new FakeConnection());
    const slow = new ConnectionLink({ connect, clock });
    const opening = slow.open();
    await clock.advance(60_000);
    finish();
    expect(await opening).to.equal(slow.current);
    await slow.close();
  });

  it('rejects all calls with the same error after a permanent error', async () => {
    (await link.open()).isLost = true;
    mayPass = ({ code }) => code !== 'newer';
    failure = new StoreError('newer', 'upgraded');
    expect(await rejectionOf(link.get())).to.equal(failure);
    failure = undefined;
    await clock.advance(60_000);
    expect(await rejectionOf(link.get())).to.include({ code: 'newer' });
    expect(attempts).to.have.lengthOf(2);
  });

  it('opens the next connection immediately when a connection reports its end', async () => {
    let end = (): void => undefined;
    const connect = async (): Promise<FakeConnection> => {
      attempts.push(clock.monotonicMs());
      return Object.assign(new FakeConnection(), { onEnd: (listen: () => void) => (end = listen) });
    };
    const eager = new ConnectionLink({ connect, clock });
    const first = await eager.open();
    end();
    await clock.advance(0);
    expect([attempts.length, eager.current === first, first.isLost]).to.deep.equal([2, false, true]);
    await eager.close();
  });

  it('reset ends the current connection, and the next call of get returns another one', async () => {
    const first = await link.open();
    link.reset();
    expect([first.isEnded, (await link.get()) === first]).to.deep.equal([true, false]);
  });

  it('returns the same connection until it is lost, and then another one', async () => {
    const first = await link.open();
    expect(await link.get()).to.equal(first);
    first.isLost = true;
    expect(link.current).to.equal(undefined);
    const second = await link.get();
    expect(second).to.not.equal(first);
    expect([link.current === second, told]).to.deep.equal([true, ['up']]);
  });

  it('tries again with back-off up to one second, and reports only the first failure', async () => {
    (await link.open()).isLost = true;
    failure = new StoreError('io', 'gone');
    const waiting = rejectionOf(link.get());
    await clock.advance(30_000);
    await waiting;
    const gaps = attempts.slice(2).map((at, n) => at - (attempts[n + 1] ?? 0));
    expect(gaps.slice(0, 6)).to.deep.equal([50, 100, 200, 400, 800, 1000]);
    expect(gaps.at(-1)).to.equal(1000);
    failure = undefined;
    await clock.advance(5000);
    expect(told).to.deep.equal(['down: gone', 'up']);
    expect((await link.get()).isLost).to.equal(false);
  });

  it('lets callers wait until 5 s after the loss of the connection, and rejects calls after these 5 s immediately', async () => {
    (await link.open()).isLost = true;
    failure = new StoreError('io', 'gone');
    let isOver = false;
    const waiting = rejectionOf(link.get()).finally(() => (isOver = true));
    await clock.advance(4999);
    expect(isOver).to.equal(false);
    await clock.advance(1);
    expect(await waiting).to.equal(failure);
    expect(await rejectionOf(link.get())).to.equal(failure);
  });

  it('rejects waiting callers when it is closed, and ends a connection that is opened after that', async () => {
    (await link.open()).isLost = true;
    failure = new StoreError('io', 'gone');
    const waiting = rejectionOf(link.get());
    await clock.advance(1000);
    await link.close();
    expect(await waiting).to.include({ code: 'closed' });
    const late = new FakeConnection();
    let finish = (_: FakeConnection): void => undefined;
    const connect = (): Promise<FakeConnection> => new Promise((resolve) => (finish = resolve));
    const slow = new ConnectionLink({ connect, clock });
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
