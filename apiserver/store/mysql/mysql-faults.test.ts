import { systemClock } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { FaultProxy } from '../server/fault-proxy.test-support.ts';
import { GroupCommit } from '../group-commit.ts';
import { MysqlConnection } from './mysql-connection.ts';
import {
  administer,
  describeWithMysql,
  dropDatabases,
  freshDatabase,
  mysqlServer,
  storeOn,
} from './mysql.test-support.ts';
import type { MysqlDatabase } from './mysql-url.ts';
import { bytes, committed, create, key, kind, rejectionOf, revisionOf, written } from '../store-operations.fixture.ts';
import type { Store } from '../store.ts';

/** A clock that runs ten times as fast as real time, so that the tests wait less long for the store's time limits. */
const hurriedClock: Clock = {
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs() * 10,
  setTimeout: (callback, delayMs) => systemClock.setTimeout(callback, delayMs / 10),
  clearTimeout: (timer) => systemClock.clearTimeout(timer),
};

const has =
  (part: string) =>
  (error: unknown): boolean =>
    String(error).includes(part);

describeWithMysql('MySQL store, with faults', () => {
  let proxy: FaultProxy;
  let database: MysqlDatabase;
  let store: Store;

  beforeEach(async () => {
    proxy = await FaultProxy.start(mysqlServer);
    database = await freshDatabase();
    store = storeOn({ ...database, host: '127.0.0.1', port: proxy.port }, { clock: hurriedClock });
    await store.open();
    await written(store, create('before', ''));
  });

  afterEach(async () => {
    await store.close();
    await proxy.close();
    await dropDatabases();
  });

  /** Returns the key of each change in the log. */
  const history = async (): Promise<string[]> => (await store.changes(0, 10_000)).map((change) => change.key);
  /** Returns the ids of the sessions that use the database. All of them belong to the store. */
  const sessions = async (): Promise<number[]> => {
    const [rows = []] = await administer(
      `SELECT id FROM information_schema.processlist WHERE db = '${database.database}'`,
    );
    return rows.map(([id]) => Number(id));
  };

  for (const [text, fault, what] of [
    ['START TRANSACTION', 'cut', 'before the first statement'],
    ['START TRANSACTION', 'cutAfterAnswer', 'with the revision counter locked'],
    ['the data', 'cut', 'before the log was written'],
    ['the data', 'orphan', 'before the log was written, and the server does not notice it'],
    ['COMMIT', 'cut', 'before COMMIT arrived'],
    ['COMMIT', 'cutAfterAnswer', 'after COMMIT, before its response'],
  ] as const) {
    it(`writes exactly once, and reports success, when the connection is lost ${what}`, async () => {
      let isBroken = false;
      proxy.breakAt(text, fault, () => (isBroken = true));
      const [outcome] = await committed(store, [create('a', 'the data')]);
      expect(isBroken).to.equal(true);
      expect(revisionOf(outcome)).to.equal(await store.currentRevision());
      expect(await history()).to.deep.equal([key('before'), key('a')]);
      await written(store, create('b', '2'));
    });
  }

  it('ends the session that it lost, with its locks and its pending COMMIT, before it looks up whether the write succeeded', async () => {
    proxy.breakAt('COMMIT', 'orphan');
    const [outcome] = await committed(store, [create('a', '1')]);
    proxy.release();
    await written(store, create('b', '2'));
    expect(revisionOf(outcome)).to.be.below(await store.currentRevision());
    expect(await history()).to.deep.equal([key('before'), key('a'), key('b')]);
  });

  it('stores a write exactly once when the database server does not respond to COMMIT [slow]', async () => {
    proxy.breakAt('COMMIT', 'swallow');
    const [outcome] = await committed(store, [create('a', '1')]);
    expect(revisionOf(outcome)).to.equal(await store.currentRevision());
    expect(await history()).to.deep.equal([key('before'), key('a')]);
  });

  it('takes its lock again by itself when the connection is lost between two writes', async () => {
    const query = `SELECT IS_USED_LOCK(CONCAT('homeostat:', SHA1('${database.database}'), ':0'))`;
    const holder = async (): Promise<unknown> => (await administer(query))[0]?.[0]?.[0];
    const before = await holder();
    for (const id of await sessions()) await administer(`KILL ${id}`);
    await eventually(async () => ![before, null].includes(await holder()));
  });

  it('reports which writes of a batch conflicted, even if the response to the COMMIT was lost', async () => {
    proxy.breakAt('COMMIT', 'cutAfterAnswer');
    const outcomes = await committed(store, [
      create('a', '1', [[1, 'v']]),
      create('before', ''),
      create('c', '', [[1, 'w']]),
    ]);
    expect(outcomes.map((outcome) => 'revision' in outcome)).to.deep.equal([true, false, true]);
    expect(await committed(store, [create('d', '', [[1, 'v']])])).to.have.nested.property('[0].holder', key('a'));
  });

  it('reports the true outcome of each write while its sessions are killed repeatedly [slow]', async () => {
    const group = new GroupCommit(store, { maxOperations: 8, onError: (error) => expect.fail(String(error)) });
    let acknowledged = 0;
    let kills = 0;
    const write = async (name: string): Promise<number> => {
      const revision = revisionOf(await group.submit(create(name, '')));
      acknowledged += 1;
      return revision;
    };
    const killer = (async () => {
      while (acknowledged < 300) {
        for (const id of await sessions()) await administer(`KILL ${id}`).catch(() => undefined);
        const target = acknowledged + 20;
        kills += 1;
        await eventually(() => acknowledged >= Math.min(target, 400), { timeoutMs: 15_000 });
      }
    })();
    const revisions = await Promise.all(Array.from({ length: 400 }, (_, n) => write(`n${n}`)));
    await killer;
    expect(kills).to.be.above(5);
    const found = await store.changes(0, 10_000);
    expect(found.slice(1).map(({ revision }) => revision)).to.deep.equal(revisions.sort((a, b) => a - b));
  });

  describe('while another session has locks', () => {
    let other: MysqlConnection;

    beforeEach(async () => {
      other = await MysqlConnection.open(database, systemClock);
    });

    afterEach(() => other.end());

    /** Waits until a session of the store waits for a lock in this statement, and returns the id of the session. */
    const waiting = async (statement: string): Promise<number> =>
      eventually(async () => {
        const [[[id] = []] = []] = await administer(
          `SELECT id FROM information_schema.processlist WHERE db = '${database.database}' AND info LIKE '${statement}%'`,
        );
        return Number(id ?? 0);
      });

    it('writes exactly once when its statement is interrupted and repeated', async () => {
      await other.query('START TRANSACTION', 'SELECT revision FROM counter WHERE id = 1 FOR UPDATE');
      const commit = store.commit([create('a', '1')]);
      await administer(`KILL QUERY ${await waiting('SELECT revision FROM counter')}`);
      await other.query('ROLLBACK');
      expect(revisionOf((await commit).outcomes[0])).to.equal(2);
      expect(await history()).to.deep.equal([key('before'), key('a')]);
    });

    it('writes exactly once when the server rolls back its transaction because of a deadlock', async () => {
      // To end a deadlock, the server rolls back the transaction that has changed fewer rows. The transaction of
      // `other` changes many rows, so the server rolls back the transaction of the store.
      const ballast = Array.from({ length: 200 }, (_, n) => `(${n})`).join();
      await other.query('CREATE TABLE ballast (n INT) ENGINE = InnoDB', 'START TRANSACTION');
      await other.query(`INSERT INTO ballast VALUES ${ballast}`, 'SELECT 1 FROM kv WHERE kind = 1 FOR UPDATE');
      const update = { op: 'update', key: key('before'), kind, expect: 1, data: bytes('2') } as const;
      const commit = store.commit([update]);
      await waiting('UPDATE log');
      await other.query('SELECT revision FROM counter WHERE id = 1 FOR UPDATE', 'ROLLBACK');
      expect(await commit).to.deep.equal({ before: 1, outcomes: [{ revision: 2 }] });
      expect(await history()).to.deep.equal([key('before'), key('before')]);
    });
  });

  it('continues reading when the connection is lost between two pages', async () => {
    await store.commit(Array.from({ length: 1500 }, (_, n) => create(`n${n}`, 'x'.repeat(1000))));
    let rows = 0;
    for await (const page of store.scan()) {
      rows += page.length;
      for (const id of await sessions()) await administer(`KILL ${id}`).catch(() => undefined);
    }
    expect(rows).to.equal(1501);
  });

  it('rejects calls with the code `io` while the database is down, all but the first without delay, and then recovers [slow]', async () => {
    proxy.isDown = true;
    proxy.cutAll();
    expect(await rejectionOf(store.commit([create('a', '1')]))).to.include({ name: 'StoreError', code: 'io' });
    const before = systemClock.monotonicMs();
    expect(await rejectionOf(store.commit([create('a', '1')]))).to.include({ code: 'io' });
    expect(systemClock.monotonicMs() - before).to.be.below(300);
    expect(await rejectionOf(store.currentRevision())).to.include({ code: 'io' });
    proxy.isDown = false;
    await eventually(() => written(store, create('b', '2')), { timeoutMs: 10_000 });
    // Reads have a connection of their own. It may not have reconnected yet, so the test repeats the read until it
    // succeeds.
    expect(await eventually(history, { timeoutMs: 10_000 })).to.deep.equal([key('before'), key('b')]);
  });

  for (const [fault, what, names] of [
    ['cut', 'not executed', ['before', 'b']],
    ['cutAfterAnswer', 'executed', ['before', 'a', 'b']],
  ] as const) {
    it(`reports an unknown outcome when the server goes down at a COMMIT that was ${what}, and continues later [slow]`, async () => {
      proxy.breakAt('COMMIT', fault, () => (proxy.isDown = true));
      expect(await rejectionOf(store.commit([create('a', '1')]))).to.include({ name: 'StoreError', code: 'unknown' });
      proxy.isDown = false;
      const { before, outcomes } = await eventually(() => store.commit([create('b', '2')]), { timeoutMs: 10_000 });
      expect([before, revisionOf(outcomes[0])]).to.deep.equal([names.length - 1, names.length]);
      expect(await history()).to.deep.equal(names.map((name) => key(name)));
    });
  }

  describe('while another store uses the database', () => {
    let other: Store;

    beforeEach(async () => {
      other = storeOn(database);
      await other.open();
    });

    afterEach(() => other.close());

    for (const fault of ['cut', 'cutAfterAnswer', 'orphan'] as const) {
      it(`reports the true outcome of a write whose connection fails at COMMIT (${fault}) while another store writes`, async () => {
        let others = 0;
        let isDone = false;
        const busy = (async () => {
          while (!isDone) await written(other, create(`other-${(others += 1)}`, ''));
        })();
        await eventually(() => others > 3);
        proxy.breakAt('COMMIT', fault);
        const seen = others;
        const { before, outcomes } = await store.commit([create('a', '1'), create('before', ''), create('b', '2')]);
        proxy.release();
        await eventually(() => others > seen + 3);
        isDone = true;
        await busy;
        expect(outcomes).to.deep.equal([{ revision: before + 1 }, { conflict: 'exists' }, { revision: before + 2 }]);
        const found = await store.changes(0, 10_000);
        const own = found.filter((change) => !change.key.includes('other'));
        expect(own.map((change) => [change.key, change.revision])).to.deep.equal([
          [key('before'), 1],
          [key('a'), before + 1],
          [key('b'), before + 2],
        ]);
        expect(found).to.have.lengthOf(own.length + others);
      });
    }

    it('reports an unknown outcome of a write whose connection fails at COMMIT, when another store compacts the log before the write is looked up; later writes succeed', async () => {
      proxy.breakAt('COMMIT', 'cut', () => (proxy.isDown = true));
      const lost = rejectionOf(store.commit([create('a', '1')]));
      await eventually(() => proxy.isDown);
      const [x = 0] = await written(other, create('x', ''));
      await other.compact(x, 100);
      proxy.isDown = false;
      expect(await lost)
        .to.include({ name: 'StoreError', code: 'unknown' })
        .and.satisfy(has('compacted'));
      const { before, outcomes } = await store.commit([create('b', '2')]);
      expect([before, revisionOf(outcomes[0])]).to.deep.equal([x, x + 1]);
    });

    it('repeats a write that hung while it held the lock of the revision counter; another store waits only seconds for this lock [slow]', async () => {
      // This store uses the real clock, because the server measures the time after which it ends the session.
      const hanging = storeOn({ ...database, host: '127.0.0.1', port: proxy.port });
      await hanging.open();
      let isHanging = false;
      proxy.breakAt('the data', 'swallow', () => (isHanging = true));
      const late = hanging.commit([create('late', 'the data')]);
      await eventually(() => isHanging);
      expect(await written(other, create('other', ''))).to.deep.equal([2]);
      expect(await late).to.deep.equal({ before: 2, outcomes: [{ revision: 3 }] });
      await hanging.close();
    });
  });

  it('refuses writes after an outage in which another store has opened the database exclusively, until the other store is closed [slow]', async () => {
    proxy.isDown = true;
    proxy.cutAll();
    const thief = storeOn(database, { exclusive: true });
    await thief.open();
    const [x = 0] = await written(thief, create('x', ''));
    proxy.isDown = false;
    await eventually(async () => {
      const error = await rejectionOf(store.commit([create('a', '1')]));
      return expect(error).to.include({ name: 'StoreError', code: 'locked' }).and.satisfy(has('exclusively'));
    });
    await thief.close();
    const { before } = await eventually(() => store.commit([create('b', '2')]), { timeoutMs: 10_000 });
    expect(before).to.equal(x);
    expect(await history()).to.deep.equal(['before', 'x', 'b'].map((name) => key(name)));
  });
});
