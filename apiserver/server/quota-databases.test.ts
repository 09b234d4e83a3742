import { systemClock } from '@homeostat/controller-runtime';
import { randomUUID } from 'node:crypto';
import { describeWithMysql, dropDatabases, freshDatabase, storeOn } from '../store/mysql/mysql.test-support.ts';
import { PostgresTestServer } from '../store/postgres/postgres-database.test-support.ts';
import { createPostgresStore } from '../store/postgres/postgres-store.ts';
import { describeQuota } from './quota-databases.fixture.ts';

describe('a ResourceQuota of two servers on PostgreSQL [slow]', () => {
  const server = PostgresTestServer.use();
  describeQuota(async () => {
    const url = await server.createSchema();
    return () => createPostgresStore({ url, clock: systemClock, uuid: randomUUID });
  });
});

describeWithMysql('a ResourceQuota of two servers on MySQL or MariaDB [slow]', () => {
  after(dropDatabases);
  describeQuota(async () => {
    const database = await freshDatabase();
    return () => storeOn(database);
  });
});
