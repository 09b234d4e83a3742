import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { exampleObjects } from '../backup/export-text.fixture.ts';
import { describeWithMysql, dropDatabases, freshDatabase, mysqlAuthority } from '../store/mysql/mysql.test-support.ts';
import { PostgresTestServer } from '../store/postgres/postgres-database.test-support.ts';
import { createSqliteStore } from '../store/sqlite/sqlite-store.ts';
import { rejectionOf, written } from '../store/store-operations.fixture.ts';
import { exportDatabase, importDatabase } from './database-copy.ts';

describe('a copy of a database', () => {
  let folder: string;
  let source: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-ring-'));
    source = `sqlite:${folder}/source.db`;
    const store = createSqliteStore({ path: `${folder}/source.db` });
    await store.open();
    await written(store, ...exampleObjects());
    await store.close();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /**
   * Copies all objects from the source to the first database, and from each database to the next one. Returns the
   * digest of each export.
   */
  async function moveAlong(...databases: readonly string[]): Promise<readonly string[]> {
    const digests: string[] = [];
    for (const [at, database] of databases.entries()) {
      const file = `${folder}/step-${at}.ndjson`;
      await writeFile(file, await exportOf(databases[at - 1] ?? source));
      digests.push((await importDatabase({ database, file })).sha256);
    }
    return digests;
  }

  it('copies SQLite to SQLite, and the exports have equal digests [slow]', async () => {
    const digests = await moveAlong(`sqlite:${folder}/a.db`, `sqlite:${folder}/b.db`);
    expect(new Set(digests).size).to.equal(1);
  });

  describeWithMysql('through PostgreSQL, MySQL and SQLite', () => {
    const postgres = PostgresTestServer.use();
    after(dropDatabases);

    it('gives the same digest for the export from each database through which the objects are copied [slow]', async () => {
      const { database } = await freshDatabase();
      const digests = await moveAlong(
        await postgres.createDatabase(),
        `mysql:${mysqlAuthority}/${database}`,
        `sqlite:${folder}/last.db`,
      );
      expect(digests).to.have.lengthOf(3);
      expect(new Set(digests).size).to.equal(1);
    });

    it('is refused while a server uses the source or the target [slow]', async () => {
      const url = await postgres.createDatabase();
      const { store } = await postgres.open(url);
      await writeFile(`${folder}/any.ndjson`, await exportOf(source));
      // The export and the import wait for the lock at the same time.
      const copies = [exportDatabase(url).next(), importDatabase({ database: url, file: `${folder}/any.ndjson` })];
      for (const error of await Promise.all(copies.map(rejectionOf)))
        expect(error).to.include({ name: 'StoreError', code: 'locked' });
      await store.close();
    });
  });
});

async function exportOf(database: string): Promise<string> {
  let text = '';
  for await (const lines of exportDatabase(database)) text += lines;
  return text;
}
