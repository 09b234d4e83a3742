import { EtcdTestCluster } from './etcd.test-support.ts';
import { describeReplicas } from '../store-replicas.contract.ts';
import { describeDurableStore, describeStoreContract } from '../store.contract.ts';
import type { DurableStoreUnderTest, StoreUnderTest } from '../store.contract.ts';

describe('etcd', () => {
  const etcd = EtcdTestCluster.use({ size: 1 });
  /**
   * A write to three members costs three times as much as a write to one, so only the tests of several stores use this
   * cluster.
   */
  const threeMembers = EtcdTestCluster.use();

  const open = async (url: string): Promise<DurableStoreUnderTest> => {
    const store = etcd.store(url);
    const opened = await store.open();
    const reopen = async (): Promise<StoreUnderTest> => {
      await store.close();
      return open(url);
    };
    return { store, opened, reopen };
  };

  describeStoreContract('etcd', () => open(etcd.freshUrl()));
  describeDurableStore('etcd', () => open(etcd.freshUrl()));
  describeReplicas('etcd', async () => {
    const url = threeMembers.freshUrl();
    return Promise.all([1, 2, 3, 4].map(() => threeMembers.open(url)));
  });
});
