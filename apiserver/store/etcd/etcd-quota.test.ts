import { expect } from 'chai';

import { CallProxy, type Forward, overQuota } from './call-proxy.test-support.ts';
import { EtcdTestCluster } from './etcd.test-support.ts';
import { parseEtcdUrl } from './etcd-url.ts';
import { create, key, rejectionOf, written } from '../store-operations.fixture.ts';
import type { Store } from '../store.ts';

describe("a store's write for which etcd reports an exceeded quota", () => {
  const etcd = EtcdTestCluster.useShared();
  let proxy: CallProxy;
  let prefix: string;
  let store: Store;

  beforeEach(async () => {
    proxy = await CallProxy.start(etcd.cluster.members[0]?.endpoint ?? '');
    ({ prefix } = parseEtcdUrl(etcd.freshUrl(), {}));
    store = await etcd.open(`etcd://${proxy.endpoint}${prefix}`);
    await written(store, create('before', ''));
  });

  afterEach(async () => {
    await etcd.closeStores();
    proxy.close();
  });

  /**
   * Makes the first request with this text fail because of the quota, after a call of `instead`. All other requests are
   * passed on.
   */
  const exceed = (text: string, instead: (forward: Forward) => Promise<unknown>): void => {
    proxy.respond = async (request, forward) => {
      if (!request.includes(text)) return forward();
      proxy.respond = (_, next) => next();
      await instead(forward);
      throw overQuota();
    };
  };
  const names = async (): Promise<string[]> => (await store.changes(0, 10)).map((change) => change.key);
  const other = (): Promise<Store> => etcd.open(etcd.cluster.url(prefix));

  it('is acknowledged if etcd has stored it despite the reported error', async () => {
    exceed('the data', (forward) => forward());
    expect(await written(store, create('a', 'the data', [[1, 'v']]))).to.deep.equal([2]);
    expect(await written(store, create('b', ''))).to.deep.equal([3]);
    expect(await names()).to.deep.equal(['before', 'a', 'b'].map((name) => key(name)));
  });

  it('is acknowledged if etcd has stored it, even if another store has written since then', async () => {
    const second = await other();
    exceed('the data', async (forward) => {
      await forward();
      await written(second, create('b', ''));
    });
    expect(await written(store, create('a', 'the data'))).to.deep.equal([2]);
    expect(await names()).to.deep.equal(['before', 'a', 'b'].map((name) => key(name)));
  });

  it('has an unknown outcome when another store has compacted the history after the write', async () => {
    const second = await other();
    exceed('the data', async (forward) => {
      await forward();
      const [last = 0] = await written(second, create('b', ''));
      await second.compact(last, 10);
    });
    expect(await rejectionOf(store.commit([create('a', 'the data')]))).to.include({ code: 'unknown' });
    expect(await written(store, create('c', ''))).to.deep.equal([4]);
  });

  it('rejects with the code "full" when etcd has not stored it, even if another store wrote just before', async () => {
    exceed('the data', async () => undefined);
    expect(await rejectionOf(store.commit([create('a', 'the data')]))).to.include({ code: 'full' });
    const second = await other();
    exceed('the data', () => written(second, create('b', '')));
    expect(await rejectionOf(store.commit([create('a', 'the data')]))).to.include({ code: 'full' });
    expect(await written(store, create('c', ''))).to.deep.equal([3]);
    expect(await names()).to.deep.equal(['before', 'b', 'c'].map((name) => key(name)));
  });

  it('is acknowledged if it is a compaction that etcd has executed despite the reported error', async () => {
    exceed('"compactRevision":1', (forward) => forward());
    expect(await store.compact(1, 10)).to.equal(1);
    expect(await rejectionOf(store.changes(0, 1))).to.have.property('name', 'CompactedError');
  });
});
