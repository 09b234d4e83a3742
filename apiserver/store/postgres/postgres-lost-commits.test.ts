import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { passTime, PostgresTestServer } from './postgres-database.test-support.ts';
import type { CommitFault } from './postgres-proxy.test-support.ts';
import { bytes, create, key, kind, rejectionOf, revisionOf, scanned, written } from '../store-operations.fixture.ts';
import { storeErrorCodeOf } from '../store-error.ts';
import type { Store } from '../store.ts';

async function historyOf(store: Store): Promise<[key: string, revision: number][]> {
  return (await store.changes(0, 1000)).map((change) => [change.key, change.revision]);
}

/**
 * Writes one object after the other. Returns a function that stops the writes, and resolves with their keys and
 * revisions.
 */
function keepWriting(store: Store): () => Promise<readonly [key: string, revision: number][]> {
  const all: [string, number][] = [];
  let isStopped = false;
  const writing = (async () => {
    for (let at = 0; !isStopped || at === 0; at += 1) {
      const [revision = 0] = await written(store, create(`other-${at}`, ''));
      all.push([key(`other-${at}`), revision]);
    }
    return all;
  })();
  return () => {
    isStopped = true;
    return writing;
  };
}

describe('PostgresStore when the response to a commit is lost', () => {
  const server = PostgresTestServer.use();

  const faults: readonly [CommitFault, string][] = [
    ['before', 'before the server has the COMMIT'],
    ['after', 'before the response to COMMIT'],
    ['late', 'and the server gets the COMMIT after the look-up'],
  ];
  for (const [fault, when] of faults) {
    it(`reports the true outcome and writes exactly once, despite concurrent writes of another store, when the connection ends ${when}`, async () => {
      const { store, proxy, directUrl } = await server.openThroughProxy();
      const [a = 0, old = 0] = await written(store, create('a', '1', [[1, 'v']]), create('old', '2'));
      const other = server.store(directUrl);
      await other.open();
      const stopWriting = keepWriting(other);
      proxy.failCommit(fault);
      const { before, outcomes } = await store.commit([
        create('a', 'again'),
        create('b', '3', [[1, 'w']]),
        { op: 'update', key: key('old'), kind, expect: old, data: bytes('4') },
        create('c', '5', [[1, 'v']]),
      ]);
      const [exists, b, updated, taken] = outcomes;
      expect(proxy.hasFailed).to.equal(true);
      proxy.releaseCommit();
      expect([exists, taken]).to.deep.equal([
        { conflict: 'exists' },
        { conflict: 'unique', holder: key('a'), claim: [1, 'v'] },
      ]);
      const [next = 0] = await written(store, create('d', '6'));
      const ofOther = await stopWriting();
      const own: [string, number][] = [
        [key('a'), a],
        [key('old'), old],
        [key('b'), revisionOf(b)],
        [key('old'), revisionOf(updated)],
        [key('d'), next],
      ];
      expect(await historyOf(store)).to.deep.equal([...own, ...ofOther].sort(([, x], [, y]) => x - y));
      // After the fault `after`, the lost transaction has written the operations on b and old, but the reasons for
      // refusing the operations on a and c were lost with its response. So the store sends only the operations on a and
      // c again, in a second transaction. `before` is then the revision before the second transaction.
      if (fault === 'after') expect(before).to.be.at.least(revisionOf(updated));
      else expect(before).to.equal(revisionOf(b) - 1);
      expect(await scanned(store)).to.have.lengthOf(4 + ofOther.length);
      await Promise.all([store.close(), other.close()]);
    });
  }

  it('finds the whole batch in the history, and returns its revisions and, as `before`, the revision before the batch', async () => {
    const { store, proxy, directUrl } = await server.openThroughProxy();
    const { stores } = await server.openSeveral(1, directUrl);
    for (const other of stores) await written(other, create('x', ''), create('y', ''));
    proxy.failCommit('after');
    expect(await store.commit([create('a', '1'), create('b', '2')])).to.deep.equal({
      before: 2,
      outcomes: [{ revision: 3 }, { revision: 4 }],
    });
    await Promise.all([store, ...stores].map((each) => each.close()));
  });

  it('reports an unknown outcome while the server does not respond, and continues once it does', async () => {
    const clock = new FakeClock();
    const { store, proxy } = await server.openThroughProxy(clock);
    const [a = 0] = await written(store, create('a', '1'));
    proxy.failCommit('after');
    proxy.refuse();
    const error = await passTime(clock, rejectionOf(store.commit([create('a', 'again'), create('b', '2')])));
    expect(error).to.include({ name: 'StoreError', code: 'unknown' });
    // This commit fails immediately, because no call waits again for a server that has not responded for seconds.
    expect(await rejectionOf(store.commit([create('c', '3')]))).to.include({ code: 'io' });
    proxy.up();
    const committing = (): Promise<unknown> => passTime(clock, rejectionOf(store.commit([create('c', '3')])));
    await eventually(async () => (await committing()) === undefined);
    expect(await historyOf(store)).to.deep.equal([
      [key('a'), a],
      [key('b'), a + 1],
      [key('c'), a + 2],
    ]);
    await store.close();
  });

  it('can be closed while the server does not respond', async () => {
    const clock = new FakeClock();
    const { store, proxy } = await server.openThroughProxy(clock);
    proxy.failCommit('before');
    proxy.refuse();
    const error = await passTime(clock, rejectionOf(store.commit([create('a', '1')])));
    await store.close();
    expect([storeErrorCodeOf(error), clock.pendingTimers]).to.deep.equal(['unknown', 0]);
  });

  it('reports an unknown outcome when another store has removed the changes of the batch by compaction', async () => {
    const { store, proxy, directUrl } = await server.openThroughProxy();
    const { stores } = await server.openSeveral(1, directUrl);
    await written(store, create('a', '1'));
    proxy.failCommit('after');
    proxy.refuse();
    const commit = rejectionOf(store.commit([create('b', '2')]));
    await eventually(() => proxy.hasFailed);
    for (const other of stores) {
      await written(other, create('c', '3'));
      expect(await other.compact(3, 10)).to.equal(3);
    }
    proxy.up();
    const error = await commit;
    expect(error).to.include({ code: 'unknown' });
    expect(error).to.have.nested.property('cause.message').that.includes('compacted');
    expect(await written(store, create('d', '4'))).to.deep.equal([4]);
    expect(await scanned(store)).to.have.lengthOf(4);
    await Promise.all([store, ...stores].map((each) => each.close()));
  });

  it('reports an unknown outcome when a part of the batch is stored, and each retry of the rest loses the connection', async () => {
    const { store, proxy } = await server.openThroughProxy();
    const [a = 0] = await written(store, create('a', '1'));
    proxy.failCommit('after', 'after', 'after');
    const error = await rejectionOf(store.commit([create('a', 'again'), create('b', '2')]));
    expect([storeErrorCodeOf(error), proxy.hasFailed]).to.deep.equal(['unknown', true]);
    expect(await historyOf(store)).to.deep.equal([
      [key('a'), a],
      [key('b'), a + 1],
    ]);
    await store.close();
  });

  it('commit rejects with the error of the connection, not with an unknown outcome, when the batch was not written', async () => {
    const { store, proxy } = await server.openThroughProxy();
    proxy.failCommit('before', 'before', 'before');
    expect(await rejectionOf(store.commit([create('a', '1')]))).to.include({ code: 'io' });
    expect(await historyOf(store)).to.deep.equal([]);
    await store.close();
  });
});
