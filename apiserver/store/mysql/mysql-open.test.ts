import { systemClock } from '@homeostat/controller-runtime';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { FaultProxy } from '../server/fault-proxy.test-support.ts';
import { MysqlConnection } from './mysql-connection.ts';
import { migrate } from './mysql-migrator.ts';
import { migrations } from './mysql-statements.ts';
import {
  administer,
  describeWithMysql,
  dropDatabases,
  freshDatabase,
  storeOn,
  warningsOf,
} from './mysql.test-support.ts';
import type { MysqlStoreParts } from './mysql-store.ts';
import { type MysqlDatabase, nameOf } from './mysql-url.ts';
import { bytes, create, kind, rejectionOf, scanned, written } from '../store-operations.fixture.ts';
import type { Store } from '../store.ts';

/** A password that needs no escape in SQL, and that occurs in no other text. */
const password = 'swordfish-8125';

async function failureToOpen(database: MysqlDatabase, options: Partial<MysqlStoreParts> = {}): Promise<unknown> {
  const store = storeOn(database, options);
  const error = await rejectionOf(store.open());
  await store.close();
  return error;
}

/** Sets a global variable of the server while `body` runs. */
async function withGlobal(name: string, value: number | string, body: () => Promise<void>): Promise<void> {
  const [[[before] = []] = []] = await administer(`SELECT @@GLOBAL.${name}`, 'DO 0');
  const literal = (each: unknown): string => (typeof each === 'number' ? `${each}` : `'${String(each)}'`);
  await administer(`SET GLOBAL ${name} = ${literal(value)}`);
  try {
    await body();
  } finally {
    await administer(`SET GLOBAL ${name} = ${literal(before)}`);
  }
}

/** Returns the number of sessions that the server reports for a database. */
async function sessionsOf({ database }: MysqlDatabase): Promise<number> {
  const [rows] = await administer(`SELECT id FROM information_schema.processlist WHERE db = '${database}'`);
  return rows?.length ?? 0;
}

describeWithMysql('a MySQL store that is opened', () => {
  let database: MysqlDatabase;
  let store: Store;
  const users: string[] = [];

  beforeEach(async () => {
    database = await freshDatabase();
    store = storeOn(database);
  });

  afterEach(async () => {
    await store.close();
    if (users.length > 0) await administer(`DROP USER ${users.splice(0).join(', ')}`);
    await dropDatabases();
  });

  /** Creates a user with only the privileges that the manual requires, and returns the database with this user. */
  const asPlainUser = async (): Promise<MysqlDatabase> => {
    const user = `u${database.database.slice(-20)}`;
    users.push(`'${user}'@'%'`);
    await administer(
      `CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'`,
      `GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP ON ${database.database}.* TO '${user}'@'%'`,
    );
    return { ...database, user, password };
  };

  it('has no session on the database server after it is closed, or after its open is refused [slow]', async () => {
    await store.open();
    expect(await failureToOpen(database, { exclusive: true })).to.include({ code: 'locked' });
    await eventually(async () => (await sessionsOf(database)) === 2);
    await store.close();
    await eventually(async () => (await sessionsOf(database)) === 0);
  });

  it('needs privileges only on its own database', async () => {
    store = storeOn(await asPlainUser());
    await store.open();
    await written(store, create('a', '1', [[1, 'v']]));
    expect(await store.compact(1, 10)).to.equal(1);
    expect(await scanned(store)).to.have.lengthOf(1);
  });

  it('rejects a commit with the code "readOnly" while the server is read-only, and writes nothing', async () => {
    store = storeOn(await asPlainUser());
    await store.open();
    await withGlobal('read_only', 1, async () => {
      expect(await rejectionOf(store.commit([create('a', '1')]))).to.include({ name: 'StoreError', code: 'readOnly' });
    });
    expect(await scanned(store)).to.deep.equal([]);
    await written(store, create('b', '2'));
  });

  it('names the server that it cannot reach, but never the password', async () => {
    // No process listens on this port, because it is reserved.
    const port = 1;
    const error = await failureToOpen({ ...database, host: '127.0.0.1', port, password });
    expect(error).to.include({ code: 'io' });
    expect(String(error)).to.include(`mysql://127.0.0.1:${port}/`).and.to.include('ECONNREFUSED');
    expect(JSON.stringify([error, (error as Error).stack, (error as Error).cause])).not.to.include(password);
  });

  it('an error names the refused user or the missing database, but never the password', async () => {
    const denied = await failureToOpen({ ...database, user: 'nobody', password });
    expect(denied).to.include({ code: 'refused' });
    expect(String(denied)).to.include("'nobody'@").and.not.to.include(password);
    const missing = await failureToOpen({ ...database, database: 'homeostat_test_missing' });
    expect(missing).to.include({ code: 'refused' });
    expect(String(missing)).to.include('homeostat_test_missing');
  });

  it('refuses a database that a newer program has upgraded, with a message that names both versions', async () => {
    await store.open();
    await store.close();
    await administer(`UPDATE ${database.database}.meta SET value = '${migrations.length + 1}' WHERE name = 'schema'`);
    const error = await failureToOpen(database);
    expect(error).to.include({ code: 'newer' });
    expect(String(error)).to.include(
      `schema version ${migrations.length + 1}, this program knows ${migrations.length}`,
    );
  });

  it('refuses to open or write a database that a newer program is upgrading', async () => {
    await store.open();
    await administer(`INSERT INTO ${database.database}.meta VALUES ('upgrading', '${migrations.length + 1}')`);
    expect(await rejectionOf(store.commit([create('a', '1')]))).to.include({ code: 'newer' });
    expect(await rejectionOf(store.checkSchema())).to.include({ code: 'newer' });
    expect(await store.currentRevision()).to.equal(0);
    expect(await failureToOpen(database)).to.include({ code: 'newer' });
  });

  it('refuses a database of another program', async () => {
    await administer(`CREATE TABLE ${database.database}.songs (title TEXT)`);
    expect(await failureToOpen(database)).to.include({ code: 'corrupt' });
  });

  it('completes a first start that a crash has interrupted', async () => {
    await administer(
      `USE ${database.database}`,
      'CREATE TABLE meta (name VARBINARY(64) NOT NULL PRIMARY KEY, value VARBINARY(255) NOT NULL) ENGINE = InnoDB',
      (migrations[0] ?? '').split(';').slice(0, 2).join(';'),
    );
    const { epoch } = await store.open();
    expect(epoch).to.match(/^[0-9a-f-]{36}$/);
    await written(store, create('a', '1', [[1, 'v']]));
  });

  it('has an epoch even if the first start was interrupted just before it wrote the epoch', async () => {
    const proxy = await FaultProxy.start(database);
    proxy.breakAt(Buffer.from('epoch').toString('hex'), 'cut');
    expect(await failureToOpen({ ...database, port: proxy.port })).to.include({ code: 'io' });
    await proxy.close();
    expect((await store.open()).epoch).to.match(/^[0-9a-f-]{36}$/);
  });

  it('has one schema version and one epoch when several connections migrate the database at the same time', async () => {
    const connections = await Promise.all([1, 2, 3].map(() => MysqlConnection.open(database, systemClock)));
    const name = nameOf(database);
    await Promise.all(connections.map((connection, n) => migrate(connection, { name, epoch: `epoch ${n}` })));
    await Promise.all(connections.map((connection) => connection.end()));
    const [rows] = await administer(`SELECT value FROM ${database.database}.meta WHERE name IN ('schema', 'epoch')`);
    expect(rows?.map(String).sort()[0]).to.equal(`${migrations.length}`);
    expect(rows?.map(String).sort()[1]).to.match(/^epoch [012]$/);
  });

  it('refuses a key that is too long, even if the server is configured to truncate it', async () => {
    await withGlobal('sql_mode', '', async () => {
      await store.open();
      const long = { op: 'create', key: `/${'k'.repeat(700)}`, kind, data: bytes('') } as const;
      expect(await rejectionOf(store.commit([long, create('a', '1')]))).to.include({ code: 'refused' });
    });
    expect(await scanned(store)).to.deep.equal([]);
  });

  it('logs a warning only when the settings of MySQL allow the loss of acknowledged writes', async () => {
    const { logger, warnings } = warningsOf();
    store = storeOn(database, { logger });
    await store.open();
    await store.close();
    expect(warnings).to.deep.equal([]);
    await withGlobal('innodb_flush_log_at_trx_commit', 2, async () => {
      store = storeOn(database, { logger });
      await store.open();
    });
    expect(warnings).to.have.lengthOf(1);
    expect(warnings[0]).to.include('may be lost').and.to.include('innodb_flush_log_at_trx_commit is 2');
  });

  it('rejects a second call of open, and can be closed without having been opened', async () => {
    await store.open();
    expect(await rejectionOf(store.open())).to.include({ code: 'closed' });
    await storeOn(database).close();
  });
});
