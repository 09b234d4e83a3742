import { randomUUID } from 'node:crypto';

import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { databaseOf, PostgresTestServer, runOn, withCounterLocked } from './postgres-database.test-support.ts';
import { migrations } from './postgres-schema.ts';
import { createPostgresStore } from './postgres-store.ts';
import { openStore } from '../open/database-url.ts';
import { create, kind, rejectionOf, scanned, written } from '../store-operations.fixture.ts';

describe('PostgresStore when it is opened', () => {
  const server = PostgresTestServer.use();

  it('refuses to open exclusively while other stores are open, and names their sessions [slow]', async () => {
    const { stores, url } = await server.openSeveral(2);
    const error = await rejectionOf(server.store(url, { exclusive: true }).open());
    expect(error).to.include({ name: 'StoreError', code: 'locked' });
    expect(String(error)).to.match(
      new RegExp(`/${databaseOf(url)} is in use by another process \\(sessions with pid \\d+, \\d+\\)`),
    );
    for (const [at, store] of stores.entries()) {
      await written(store, create(`n${at}`, ''));
      await store.close();
    }
    const alone = server.store(url, { exclusive: true });
    expect(await alone.open()).to.include({ revision: 2 });
    await alone.close();
  });

  it('refuses to open while another store is open exclusively, and names the session of that store [slow]', async () => {
    const url = await server.createSchema();
    const environment = { clock: systemClock, logger: silentLogger, uuid: randomUUID };
    const alone = await openStore(url, environment, { exclusive: true });
    await alone.open();
    for (const exclusive of [false, true]) {
      const error = await rejectionOf(server.store(url, { exclusive }).open());
      expect(error).to.include({ code: 'locked' });
      expect(String(error)).to.match(/by another process \(sessions with pid \d+\)/);
    }
    await written(alone, create('a', '1'));
    await alone.close();
    await (await server.open(url)).store.close();
  });

  it('keeps stores with different schemas of one database apart', async () => {
    const [one, other] = [await server.open(), await server.open()];
    await written(one.store, create('a', '1'));
    expect([await scanned(other.store), one.opened.epoch === other.opened.epoch]).to.deep.equal([[], false]);
    await one.store.close();
    await other.store.close();
  });

  it('creates its tables once when four stores open at the same time, and all four stores open', async () => {
    const url = await server.createDatabase();
    const stores = Array.from({ length: 4 }, () => server.store(url));
    const opened = await Promise.all(stores.map((store) => store.open()));
    expect(new Set(opened.map(({ epoch }) => epoch)).size).to.equal(1);
    const tables = await runOn(url, `SELECT relname FROM pg_class WHERE relname LIKE 'homeostat%' AND relkind = 'r'`);
    expect(tables).to.have.lengthOf(7);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('upgrades the tables of the first version, and keeps their content', async () => {
    const { store, url } = await server.open();
    await written(store, create('a', '1'));
    await store.close();
    await runOn(url, `DROP TABLE homeostat_indexes; UPDATE homeostat_meta SET value = '1' WHERE name = 'schema'`);
    const { store: next, opened } = await server.open(url);
    expect(opened).to.include({ revision: 1 });
    expect(await next.setClaims(kind, { indexes: [1], claims: [], revision: 1 })).to.deep.equal({ generation: 1 });
    await next.close();
  });

  it('waits for running writes of older programs before it upgrades the tables', async () => {
    const { store, url } = await server.open();
    await store.close();
    await runOn(url, `DROP TABLE homeostat_indexes; UPDATE homeostat_meta SET value = '1' WHERE name = 'schema'`);
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`;
    const opening = await withCounterLocked(url, async () => {
      const next = server.open(url);
      await eventually(async () => (await server.query(waiting, [databaseOf(url)])).length === 1);
      const [table] = await runOn<{ found: boolean }>(
        url,
        `SELECT to_regclass('homeostat_indexes') IS NOT NULL AS found`,
      );
      expect(table?.found).to.equal(false);
      return { next };
    });
    await (await opening.next).store.close();
  });

  it('refuses a database that a newer program has upgraded, with a message that names both versions', async () => {
    const { store, url } = await server.open();
    await store.close();
    await runOn(url, `UPDATE homeostat_meta SET value = '${migrations.length + 1}' WHERE name = 'schema'`);
    const error = await rejectionOf(server.store(url).open());
    expect(error).to.include({ code: 'newer' });
    expect(String(error)).to.include(`version ${migrations.length + 1}, this program knows ${migrations.length}`);
  });

  it('needs only the privileges of the owner of its database [slow]', async () => {
    const url = new URL(await server.createDatabase());
    const role = `homeostat_test_${randomUUID().replaceAll('-', '')}`;
    await server.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    await server.query(`ALTER DATABASE ${databaseOf(url.href)} OWNER TO ${role}`);
    try {
      url.username = role;
      url.password = 'secret';
      const { store } = await server.open(url.href);
      await written(store, create('a', '1'));
      await server.endSessions(url.href);
      await written(store, create('b', '2'));
      await store.close();
    } finally {
      await server.query(`DROP DATABASE ${databaseOf(url.href)} WITH (FORCE)`);
      await server.query(`DROP ROLE ${role}`);
    }
  });

  it('waits 5 s for a server that does not listen, then fails with an error that names the server, but never the password', async () => {
    const clock = new FakeClock();
    const store = createPostgresStore({ url: 'postgres://me:secret@127.0.0.1:1/data', clock, uuid: randomUUID });
    let error: unknown;
    const opening = rejectionOf(store.open()).then((reason) => (error = reason));
    await eventually(async () => {
      await clock.advance(100);
      return error;
    });
    await opening;
    expect(error).to.include({ name: 'StoreError', code: 'io' });
    expect(clock.monotonicMs()).to.be.at.least(5_000);
    const text = `${String(error)} ${JSON.stringify(error)} ${String((error as Error).cause)}`;
    expect(text).to.include('127.0.0.1:1').and.not.to.include('secret');
    expect(clock.pendingTimers).to.equal(0);
  });

  it('fails immediately when the database does not exist', async () => {
    const url = new URL(await server.createDatabase());
    url.pathname = 'no_such_database';
    const error = await rejectionOf(server.store(url.href, { clock: new FakeClock() }).open());
    expect(error).to.include({ code: 'refused' });
    expect(String(error)).to.include('no_such_database');
  });

  it('rejects a second call of open, and can be closed without having been opened', async () => {
    const { store, url } = await server.open();
    expect(await rejectionOf(store.open())).to.include({ code: 'closed' });
    await store.close();
    await server.store(url).close();
  });
});
