import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { EtcdTurns } from './etcd-turns.ts';

describe('EtcdTurns', () => {
  let clock: FakeClock;
  let turns: EtcdTurns;
  let revision: number;

  beforeEach(() => {
    clock = new FakeClock();
    turns = new EtcdTurns({ id: 'me', clock });
    revision = 0;
  });

  afterEach(() => {
    expect(clock.pendingTimers).to.equal(0);
  });

  const see = (...ids: readonly string[]): void => {
    revision += 1;
    turns.see({ epoch: 'e', revision, commit: `c${revision}`, turns: ids });
  };

  /**
   * Calls `turns.wait()`, which waits until the store may write. Returns a function that gives the result of this call;
   * undefined while the call still waits.
   */
  const waiting = (): (() => Promise<boolean | undefined>) => {
    let result: boolean | undefined;
    void turns.wait().then((hasWaited) => (result = hasWaited));
    return async () => {
      await clock.advance(0);
      return result;
    };
  };

  it('lets a store write immediately when none of its writes has failed because of another store', async () => {
    see('other', 'me');
    expect(await turns.wait()).to.equal(false);
  });

  it('makes a store wait until it is next in the order of writers, after a write of this store has failed because of another store', async () => {
    see('first', 'second', 'me');
    turns.lost();
    const ended = waiting();
    see('second', 'me', 'first');
    expect(await ended()).to.equal(undefined);
    see('me', 'first', 'second');
    expect(await ended()).to.equal(true);
    expect(await turns.wait()).to.equal(false);
  });

  it('lets a store write before its turn when the store whose turn it is writes nothing for 50 ms (longer if writes are slow)', async () => {
    for (const [writeMs, patienceMs] of [
      [1, 50],
      [100, 500],
    ] as const) {
      turns.wrote(writeMs);
      turns.lost();
      see('gone', 'me');
      const ended = waiting();
      await clock.advance(patienceMs - 1);
      expect(await ended()).to.equal(undefined);
      await clock.advance(1);
      expect(await ended()).to.equal(true);
    }
  });

  it('does not make a store wait when its last failed write is a second old', async () => {
    turns.lost();
    await clock.advance(1_000);
    see('other', 'me');
    expect(await turns.wait()).to.equal(false);
  });

  it('ignores an older head of the same history, but accepts the head of a new history', () => {
    see('a');
    see('b');
    turns.see({ epoch: 'e', revision: 1, commit: 'late', turns: ['a'] });
    expect(turns.revision).to.equal(2);
    turns.see({ epoch: 'next', revision: 1, commit: 'begun', turns: [] });
    expect(turns.revision).to.equal(1);
  });

  it('moves the writing store to the end of the order, removes stores that missed their turn, adds stores that asked for a place', () => {
    expect(turns.next({ turns: [] }, [])).to.deep.equal(['me']);
    expect(turns.next({ turns: ['me', 'a', 'b'] }, ['c', 'a'])).to.deep.equal(['a', 'b', 'c', 'me']);
    expect(turns.next({ turns: ['gone', 'me', 'a'] }, [])).to.deep.equal(['a', 'me']);
    expect(turns.next({ turns: ['a', 'b'] }, ['me'])).to.deep.equal(['a', 'b', 'me']);
    expect([turns.needsPlace({ turns: ['a'] }), turns.needsPlace({ turns: ['a', 'me'] })]).to.deep.equal([true, false]);
  });

  it('limits the order of writers to 16 stores: the first 15 of the other stores, and then the writing store', () => {
    const others = Array.from({ length: 20 }, (_, number) => `s${number}`);
    expect(turns.next({ turns: ['me', ...others.slice(0, 14)] }, others.slice(14))).to.deep.equal([
      ...others.slice(0, 15),
      'me',
    ]);
  });

  it('makes a store wait until it is next in the order of writers, once another store has requested a place in this order', async () => {
    const next = turns.next({ turns: ['me'] }, ['other']);
    see(...next);
    const ended = waiting();
    expect(await ended()).to.equal(undefined);
    see('me', 'other');
    expect(await ended()).to.equal(true);
  });
});
