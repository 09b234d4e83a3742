import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import {
  databaseOf,
  passTime,
  PostgresTestServer,
  runOn,
  withCounterLocked,
} from './postgres-database.test-support.ts';
import { create, key, rejectionOf, revisionOf, scanned, written } from '../store-operations.fixture.ts';
import { type StoreErrorCode, storeErrorCodeOf } from '../store-error.ts';
import type { Store } from '../store.ts';

/**
 * Repeats commits until one fails with this code: the store may first have to notice a lost connection. Returns the
 * error.
 */
async function failsWith(code: StoreErrorCode, store: Store, clock: FakeClock): Promise<unknown> {
  return eventually(async () => {
    const error = await passTime(clock, rejectionOf(store.commit([create('never', '')])));
    return storeErrorCodeOf(error) === code && error;
  });
}

async function historyOf(store: Store): Promise<[key: string, revision: number][]> {
  return (await store.changes(0, 100)).map((change) => [change.key, change.revision]);
}

describe('PostgresStore when connections fail', () => {
  const server = PostgresTestServer.use();
  it('writes exactly once when the server ends the session during a transaction', async () => {
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

  it('writes, reads and notices commits again by itself after the server has ended its sessions', async () => {
    const { store, url } = await server.open(await server.createDatabase());
    const woken: number[] = [];
    const stop = store.subscribe((revision) => woken.push(revision));
    const [first = 0] = await written(store, create('a', '1'));
    // The store has a session that writes, one that reads, and one that listens.
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

  it('notices commits of other replicas, with and without a notification', async () => {
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

  it('writes nothing while another store has the database open exclusively, and continues after that', async () => {
    const clock = new FakeClock();
    const { store, proxy, directUrl } = await server.openThroughProxy(clock);
    const [a = 0] = await written(store, create('a', '1'));
    proxy.down();
    const other = server.store(directUrl, { exclusive: true });
    await other.open();
    proxy.up();
    await failsWith('locked', store, clock);
    const [b = 0] = await written(other, create('b', '2'));
    await other.close();
    const committing = (): Promise<unknown> => passTime(clock, rejectionOf(store.commit([create('c', '3')])));
    await eventually(async () => (await committing()) === undefined);
    expect(await historyOf(store)).to.deep.equal([
      [key('a'), a],
      [key('b'), b],
      [key('c'), b + 1],
    ]);
    await store.close();
  });

  it('excludes other stores again after it has lost its connection, if it is open exclusively [slow]', async () => {
    const { store: first, proxy, directUrl } = await server.openThroughProxy();
    await first.close();
    const store = server.store(proxy.url, { exclusive: true });
    await store.open();
    proxy.down();
    proxy.up();
    await written(store, create('a', '1'));
    expect(await rejectionOf(server.store(directUrl).open())).to.include({ code: 'locked' });
    await store.close();
  });

  it('refuses writes on a server that became read-only, and continues when it is writable again', async () => {
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

  it('rejects a commit with the code "locked", and writes nothing of it, when another session has the lock of the revision counter for too long [slow]', async () => {
    const { store, url } = await server.open();
    const error = await withCounterLocked(url, () => rejectionOf(store.commit([create('a', '1')])));
    expect(error).to.include({ name: 'StoreError', code: 'locked' });
    expect(await scanned(store)).to.deep.equal([]);
    await written(store, create('a', '1'));
    await store.close();
  });

  const setBack: readonly [string, string][] = [
    ['another epoch', `UPDATE homeostat_meta SET value = gen_random_uuid()::text WHERE name = 'epoch'`],
    ['a lower revision than the store has read', 'UPDATE homeostat_counter SET revision = revision - 1'],
    [
      'another change at the revision that the store has written',
      'UPDATE homeostat_log SET commit = gen_random_uuid()',
    ],
    ['no change at the revision that the store has written', 'DELETE FROM homeostat_log WHERE revision = 1'],
  ];
  for (const [what, change] of setBack) {
    it(`rejects all further writes with the code "diverged" when the database has ${what}`, async () => {
      const clock = new FakeClock();
      const { store, proxy, directUrl } = await server.openThroughProxy(clock);
      await written(store, create('a', '1'));
      const { stores } = await server.openSeveral(1, directUrl);
      await Promise.all(stores.map((other) => written(other, create('b', '2'))));
      expect(await store.currentRevision()).to.equal(2);
      proxy.down();
      await runOn(directUrl, change);
      proxy.up();
      const diverged = await failsWith('diverged', store, clock);
      expect(String(diverged)).to.include('restart').and.to.include(databaseOf(directUrl));
      expect(await rejectionOf(store.numberOf('x'))).to.equal(diverged);
      await store.close();
      await Promise.all(stores.map((other) => other.close()));
    });
  }

  it('continues after other replicas have written and compacted changes while it was disconnected', async () => {
    const { store, proxy, directUrl } = await server.openThroughProxy();
    await written(store, create('a', '1'));
    proxy.down();
    const { stores } = await server.openSeveral(1, directUrl);
    for (const other of stores) {
      await written(other, create('b', '2'), create('c', '3'));
      expect(await other.compact(2, 10)).to.equal(2);
      await other.close();
    }
    proxy.up();
    expect(await written(store, create('d', '4'))).to.deep.equal([4]);
    await store.close();
  });
});
