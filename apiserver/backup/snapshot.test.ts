import { randomUUID } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';

import { createMysqlStore } from '../store/mysql/mysql-store.ts';
import { describeWithMysql, dropDatabases, freshDatabase } from '../store/mysql/mysql.test-support.ts';
import { PostgresTestServer } from '../store/postgres/postgres-database.test-support.ts';
import { createSqliteStore } from '../store/sqlite/sqlite-store.ts';
import { describeSnapshots } from './snapshot.fixture.ts';

describe('a snapshot of SQLite', () => {
  describeSnapshots(async () => {
    const store = createSqliteStore({ memory: true });
    await store.open();
    return store;
  });
});

describe('a snapshot of PostgreSQL [slow]', () => {
  const server = PostgresTestServer.use();
  describeSnapshots(async () => (await server.open()).store);
});

describeWithMysql('a snapshot of MySQL [slow]', () => {
  after(dropDatabases);
  describeSnapshots(async () => {
    const database = await freshDatabase();
    const store = createMysqlStore({ database, clock: systemClock, logger: silentLogger, uuid: randomUUID });
    await store.open();
    return store;
  });
});
