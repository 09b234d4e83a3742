import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { databaseOf, PostgresTestServer, runOn, withCounterLocked } from './postgres-database.test-support.ts';
import { type CommitFault, PostgresProxy } from './postgres-proxy.test-support.ts';
import {
  bytes,
  committed,
  create,
  key,
  kind,
  rejectionOf,
  revisionOf,
  scanned,
  written,
} from '../store-operations.fixture.ts';
import { settledOf, type StoreErrorCode, storeErrorCodeOf } from '../store-error.ts';
import type { Store } from '../store.ts';

/** Moves time on until a promise is settled whose work waits for the network as well. */
async function passTime<Result>(clock: FakeClock, promise: Promise<Result>): Promise<Result> {
  let isSettled = false;
  const settled = promise.finally(() => (isSettled = true));
  settled.catch(() => undefined);
  await eventually(async () => {
    await clock.advance(100);
    return isSettled;
  });
  return settled;
}

/** Commits fail, in the end, like this. Before, a lost connection may have to be noticed. */
async function failsWith(code: StoreErrorCode, store: Store, clock: FakeClock): Promise<unknown> {
  return eventually(async () => {
    const error = await passTime(clock, rejectionOf(store.commit([create('never', '')])));
    return storeErrorCodeOf(error) === code && error;
  });
}

async function historyOf(store: Store): Promise<[key: string, revision: number][]> {
  return (await store.changes(0, 100)).map((change) => [change.key, change.revision]);
}

interface ProxiedStore {
  readonly store: Store;
  readonly proxy: PostgresProxy;
  readonly directUrl: string;
}

describe('PostgresStore when connections fail', () => {
  const server = PostgresTestServer.use();
  const proxies: PostgresProxy[] = [];
  after(() => Promise.all(proxies.map((proxy) => proxy.close())));

  async function openThroughProxy(clock?: FakeClock): Promise<ProxiedStore> {
    const directUrl = await server.createSchema();
    const proxy = await PostgresProxy.start(directUrl);
    proxies.push(proxy);
    const store = server.store(proxy.url, clock && { clock });
    await store.open();
    return { store, proxy, directUrl };
  }

  const faults: readonly [CommitFault, string][] = [
    ['before', 'before the server has the COMMIT'],
    ['after', 'before the answer to COMMIT'],
    ['late', 'and the server gets the COMMIT after the next session has looked'],
  ];
  for (const [fault, when] of faults) {
    it(`answers what is so, and writes once, when the connection ends ${when}`, async () => {
      const { store, proxy } = await openThroughProxy();
      const [a = 0, old = 0] = await written(store, create('a', '1', [[1, 'v']]), create('old', '2'));
      proxy.failCommit(fault);
      const [exists, b, updated, taken] = await committed(store, [
        create('a', 'again'),
        create('b', '3', [[1, 'w']]),
        { op: 'update', key: key('old'), kind, expect: old, data: bytes('4') },
        create('c', '5', [[1, 'v']]),
      ]);
      expect(proxy.hasFailed).to.equal(true);
      proxy.releaseCommit();
      expect([exists, taken]).to.deep.equal([
        { conflict: 'exists' },
        { conflict: 'unique', holder: key('a'), claim: [1, 'v'] },
      ]);
      const [next = 0] = await written(store, create('d', '6'));
      expect(await historyOf(store)).to.deep.equal([
        [key('a'), a],
        [key('old'), old],
        [key('b'), revisionOf(b)],
        [key('old'), revisionOf(updated)],
        [key('d'), next],
      ]);
      expect([await store.currentRevision(), (await scanned(store)).length]).to.deep.equal([next, 4]);
      await store.close();
    });
  }

  it('writes once when the server ends the session in the middle of a transaction', async () => {
    const { store, url } = await server.open();
    const committing = await withCounterLocked(url, async () => {
      const commit = store.commit([create('a', '1')]);
      await eventually(async () => (await server.endSessions(url, 'waiting')) === 1);
      return { commit };
    });
    const [outcome] = (await committing.commit).outcomes;
    expect(await historyOf(store)).to.deep.equal([[key('a'), revisionOf(outcome)]]);
    await store.close();
  });

  it('goes on by itself after its sessions were ended: writes, reads and hints', async () => {
    const { store, url } = await server.open(await server.createDatabase());
    const woken: number[] = [];
    const stop = store.subscribe((revision) => woken.push(revision));
    const [first = 0] = await written(store, create('a', '1'));
    // One that writes, one that reads, one that listens.
    await eventually(async () => (await server.sessions(url)) === 3);
    await server.endSessions(url);
    const [second = 0] = await written(store, create('b', '2'));
    expect([await store.currentRevision(), await scanned(store).then((rows) => rows.length)]).to.deep.equal([
      second,
      2,
    ]);
    expect(woken).to.deep.equal([first, second]);
    await eventually(async () => {
      await runOn(url, `UPDATE homeostat_counter SET revision = revision + 1`);
      return woken.length > 2;
    });
    stop();
    await store.close();
  });

  it('hears of commits that others announce, and of those that nobody does', async () => {
    const clock = new FakeClock();
    const url = await server.createSchema();
    const store = server.store(url, { clock });
    await store.open();
    const woken: number[] = [];
    store.subscribe((revision) => woken.push(revision));
    const channel = `'homeostat_' || to_hex(hashtext(current_schema()))`;
    await eventually(async () => {
      await runOn(url, `SELECT pg_notify(${channel}, '5')`);
      return woken.length > 0;
    });
    expect(woken).to.deep.equal([5]);
    await runOn(url, 'UPDATE homeostat_counter SET revision = 7');
    await eventually(async () => {
      await clock.advance(1_000);
      return woken.at(-1) === 7;
    });
    await store.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  it('says that an outcome is unknown while nobody answers, and later what was written', async () => {
    const clock = new FakeClock();
    const { store, proxy } = await openThroughProxy(clock);
    const [a = 0] = await written(store, create('a', '1'));
    proxy.failCommit('after');
    proxy.refuse();
    const error = await passTime(clock, rejectionOf(store.commit([create('a', 'again'), create('b', '2')])));
    expect(error).to.include({ name: 'StoreError', code: 'unknown' });
    // At once: nobody waits again for what has not answered for seconds.
    expect(await rejectionOf(store.commit([create('c', '3')]))).to.include({ code: 'io' });
    proxy.up();
    const revisions = await passTime(clock, settledOf(error) ?? Promise.reject(new Error('never settled')));
    expect(revisions).to.deep.equal([undefined, a + 1]);
    expect(await historyOf(store)).to.deep.equal([
      [key('a'), a],
      [key('b'), a + 1],
    ]);
    await written(store, create('c', '3'));
    await store.close();
  });

  it('closes while nobody answers, with an outcome that stays unknown', async () => {
    const clock = new FakeClock();
    const { store, proxy } = await openThroughProxy(clock);
    proxy.failCommit('before');
    proxy.refuse();
    const error = await passTime(clock, rejectionOf(store.commit([create('a', '1')])));
    const outcome = rejectionOf(settledOf(error) ?? Promise.resolve());
    await store.close();
    expect([storeErrorCodeOf(error), storeErrorCodeOf(await outcome)]).to.deep.equal(['unknown', 'closed']);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('writes nothing while another store has the lock, nor ever once that has written', async () => {
    const clock = new FakeClock();
    const { store, proxy, directUrl } = await openThroughProxy(clock);
    await written(store, create('a', '1'));
    proxy.down();
    const other = server.store(directUrl);
    await other.open();
    proxy.up();
    await failsWith('locked', store, clock);
    await written(other, create('c', '3'));
    await other.close();
    const diverged = await failsWith('diverged', store, clock);
    expect(String(diverged)).to.include('restart').and.to.include(databaseOf(directUrl));
    expect(await rejectionOf(store.numberOf('x'))).to.equal(diverged);
    await store.close();
    const { store: next } = await server.open(directUrl);
    expect((await scanned(next)).map((row) => row.key)).to.deep.equal([key('a'), key('c')]);
    await next.close();
  });

  it('takes its lock again when the other one has written nothing', async () => {
    const { store, proxy, directUrl } = await openThroughProxy();
    proxy.down();
    const other = server.store(directUrl);
    await other.open();
    proxy.up();
    const commit = store.commit([create('a', '1')]);
    await other.close();
    const [outcome] = (await commit).outcomes;
    expect(await historyOf(store)).to.deep.equal([[key('a'), revisionOf(outcome)]]);
    await store.close();
  });

  it('refuses writes on a server that became read-only, and goes on when it is so no more', async () => {
    const clock = new FakeClock();
    const url = await server.createDatabase();
    const store = server.store(url, { clock });
    await store.open();
    await server.query(`ALTER DATABASE ${databaseOf(url)} SET default_transaction_read_only = on`);
    await server.endSessions(url);
    await failsWith('readOnly', store, clock);
    await server.query(`ALTER DATABASE ${databaseOf(url)} RESET default_transaction_read_only`);
    await eventually(async () => (await passTime(clock, rejectionOf(store.commit([create('a', '1')])))) === undefined);
    await store.close();
  });

  it('fails a commit as locked when another session holds the counter for long, and writes nothing of it', async () => {
    const { store, url } = await server.open();
    const error = await withCounterLocked(url, () => rejectionOf(store.commit([create('a', '1')])));
    expect(error).to.include({ name: 'StoreError', code: 'locked' });
    expect(await scanned(store)).to.deep.equal([]);
    await written(store, create('a', '1'));
    await store.close();
  });
});
