import { expect } from 'chai';
import { startEtcd } from './support/databases/etcd-cluster.ts';
import type { EtcdCluster } from './support/databases/etcd-cluster.ts';
import { letters as all, newLetter } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

const letters = all.replace('letters', 'namespaces/default/letters');

describe('an API server on etcd, when a snapshot is restored while the server does not run [slow]', () => {
  let cluster: EtcdCluster;
  let server: TestServer;

  before(async function start() {
    cluster = await startEtcd(this, { size: 1 });
  });
  after(async () => {
    await server?.stop();
    await cluster?.stop();
  });

  const start = async (): Promise<void> => {
    server = await TestServer.start({ database: cluster.url('/restored') });
  };

  it('has the objects of the snapshot, and ends each resumed watch with 410', async () => {
    await start();
    const kept = await server.create(letters, newLetter('kept'));
    const snapshot = await cluster.snapshot();
    const lost = await server.create(letters, newLetter('lost'));
    await server.stop();
    await cluster.restore(snapshot);
    await start();
    const { items } = (await server.get(letters)).body;
    expect(items).to.deep.equal([kept]);
    for (const { metadata } of [kept, lost]) {
      const watch = await server.watch(`${letters}?watch=true&resourceVersion=${metadata.resourceVersion}`);
      await watch.count(1);
      expect(watch.events[0]?.object).to.include({ kind: 'Status', reason: 'Expired', code: 410 });
    }
    const next = await server.create(letters, newLetter('lost'));
    expect(Number(next.metadata.resourceVersion)).to.be.above(Number(lost.metadata.resourceVersion));
  });
});
