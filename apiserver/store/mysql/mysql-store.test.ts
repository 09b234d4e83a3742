import { storeOn, describeWithMysql, dropDatabases, freshDatabase } from './mysql.test-support.ts';
import type { MysqlDatabase } from './mysql-url.ts';
import type { Store } from '../store.ts';
import { describeDurableStore, describeStoreContract } from '../store.contract.ts';
import type { DurableStoreUnderTest, StoreUnderTest } from '../store.contract.ts';

const stores: Store[] = [];

async function openStore(database: MysqlDatabase): Promise<DurableStoreUnderTest> {
  const store = storeOn(database);
  stores.push(store);
  const opened = await store.open();
  const reopen = async (): Promise<StoreUnderTest> => {
    await store.close();
    return openStore(database);
  };
  return { store, opened, reopen };
}

describeWithMysql('MySQL', () => {
  after(async () => {
    await Promise.allSettled(stores.map((store) => store.close()));
    await dropDatabases();
  });

  describeStoreContract('MySQL', async () => openStore(await freshDatabase()));
  describeDurableStore('MySQL', async () => openStore(await freshDatabase()));
});
