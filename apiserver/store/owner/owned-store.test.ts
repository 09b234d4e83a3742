import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqliteStore } from '../sqlite/sqlite-store.ts';
import { describeReplicas } from '../store-replicas.contract.ts';
import { describeDurableStore, describeStoreContract } from '../store.contract.ts';
import type { DurableStoreUnderTest, StoreUnderTest } from '../store.contract.ts';
import type { Store } from '../store.ts';
import { TestOwner } from './owner.test-support.ts';

const folder = mkdtempSync(join(tmpdir(), 'homeostat-owned-'));
let files = 0;
const freshPath = (): string => join(folder, `${files++}.db`);
const owners: TestOwner[] = [];

async function startOwner(path: string): Promise<TestOwner> {
  const owner = await TestOwner.start(createSqliteStore({ path }));
  owners.push(owner);
  return owner;
}

async function openFile(path: string): Promise<DurableStoreUnderTest> {
  const owner = await startOwner(path);
  const store = owner.store();
  const opened = await store.open();
  const reopen = async (): Promise<StoreUnderTest> => {
    await store.close();
    await owner.close();
    return openFile(path);
  };
  return { store, opened, reopen };
}

describe('a database that another process has open', () => {
  afterEach(async () => {
    await Promise.all(owners.splice(0).map((owner) => owner.close()));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  describeStoreContract('SQLite behind its owner', () => openFile(freshPath()), ' [slow]');
  describeDurableStore('SQLite behind its owner', () => openFile(freshPath()), ' [slow]');
  describeReplicas('SQLite behind its owner', async (): Promise<readonly Store[]> => {
    const owner = await startOwner(freshPath());
    return Promise.all([1, 2, 3, 4].map(() => owner.open()));
  });
});
