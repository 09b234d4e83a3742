import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { exampleObjects } from '../backup/export-text.fixture.ts';
import { describeSnapshots } from '../backup/snapshot.fixture.ts';
import { EtcdTestCluster } from '../store/etcd/etcd.test-support.ts';
import { createSqliteStore } from '../store/sqlite/sqlite-store.ts';
import { rejectionOf, written } from '../store/store-operations.fixture.ts';
import type { Store } from '../store/store.ts';
import { exportDatabase, importDatabase } from './database-copy.ts';
import { describeQuota } from './quota-databases.fixture.ts';
import { describeServer } from './server-restart.fixture.ts';
import { describeSharedVault, describeVault } from './vault.fixture.ts';

// These tests are in one file, so that they start only one cluster when the run provides no shared cluster
// (`--no-config`).
describe('etcd', () => {
  const etcd = EtcdTestCluster.useShared();
  const newDatabase = async (): Promise<() => Store> => {
    const url = etcd.freshUrl();
    return () => etcd.store(url);
  };

  describe('as the database of a server that restarts', () => describeServer(async () => etcd.freshUrl()));
  describeVault('etcd', newDatabase);
  describeSharedVault('etcd', newDatabase);
  describe('as the database of two servers with a ResourceQuota [slow]', () => describeQuota(newDatabase));
  describe('in a snapshot [slow]', () => describeSnapshots(() => etcd.open()));

  describe('in imports and exports', () => {
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'homeostat-etcd-copy-'));
    });
    after(() => rm(folder, { recursive: true }));

    const exportTo = async (file: string, database: string): Promise<string> => {
      let text = '';
      for await (const lines of exportDatabase(database)) text += lines;
      await writeFile(join(folder, file), text);
      return join(folder, file);
    };

    it('imports an export of SQLite, exports it back with the same digest, and refuses both while a server uses the database [slow]', async () => {
      const store = createSqliteStore({ path: `${folder}/source.db` });
      await store.open();
      await written(store, ...exampleObjects());
      await store.close();
      const url = etcd.freshUrl();
      const first = await importDatabase({ database: url, file: await exportTo('one', `sqlite:${folder}/source.db`) });
      const file = await exportTo('two', url);
      const second = await importDatabase({ database: `sqlite:${folder}/target.db`, file });
      expect(second.sha256).to.equal(first.sha256);
      await etcd.open(url);
      expect(await rejectionOf(exportDatabase(url).next())).to.include({ name: 'StoreError', code: 'locked' });
      expect(await rejectionOf(importDatabase({ database: url, file }))).to.include({ code: 'locked' });
    });
  });
});
