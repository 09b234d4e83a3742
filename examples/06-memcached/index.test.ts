import { expect } from 'chai';
import { isInvalid, isNotFound } from 'homeostat';
import type { Client } from 'homeostat';
import { checkConvergence, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { fileURLToPath } from 'node:url';
import { memcachedController } from './memcached-controller.ts';
import { Memcached, Workload } from './models.ts';
import { workloadController } from './workload-controller.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const namespace = 'default';

describe('example 06: Memcached', () => {
  let server: TestServer;
  let client: Client;

  beforeEach(async () => {
    server = await startTestServer({ plugins: [folder] });
    client = server.httpClient;
    await client.create(Memcached, { metadata: { name: 'sample', namespace }, spec: { size: 3 } });
    await server.settle();
  });

  afterEach(async () => server.stop());

  const workload = () => client.get(Workload, 'sample', { namespace });
  const memcached = () => client.get(Memcached, 'sample', { namespace });
  const resize = async (size: number): Promise<void> => {
    await client.patch(Memcached, 'sample', { type: 'merge', patch: { spec: { size } } }, { namespace });
    await server.settle();
  };

  it('sets the replicas of the workload to the `size` of the Memcached, and reports which nodes run', async () => {
    expect((await workload()).spec).to.deep.equal({ image: 'memcached:1.6', replicas: 3 });
    const { status, metadata } = await memcached();
    expect(status?.nodes).to.deep.equal(['sample-0', 'sample-1', 'sample-2']);
    expect(status?.conditions?.[0]).to.include({ type: 'Available', status: 'True', message: '3 of 3 nodes run' });
    await resize(1);
    expect((await workload()).spec.replicas).to.equal(1);
    expect((await memcached()).status?.nodes).to.deep.equal(['sample-0']);
    expect((await workload()).metadata.ownerReferences?.[0]?.uid).to.equal(metadata.uid);
  });

  it('corrects a changed workload, and creates a deleted one again', async () => {
    await client.patch(Workload, 'sample', { type: 'merge', patch: { spec: { replicas: 9 } } }, { namespace });
    await server.settle();
    expect((await workload()).spec.replicas).to.equal(3);
    const { uid } = (await workload()).metadata;
    await client.delete(Workload, 'sample', { namespace });
    await server.settle();
    expect((await workload()).metadata.uid).not.to.equal(uid);
  });

  it('deletes the workload when the Memcached is deleted', async () => {
    await client.delete(Memcached, 'sample', { namespace });
    await server.settle();
    expect(isNotFound(await workload().catch((error: unknown) => error))).to.equal(true);
  });

  it('refuses an invalid size', async () => {
    const refused: unknown = await resize(0).catch((error: unknown) => error);
    expect(isInvalid(refused)).to.equal(true);
    expect((refused as Error).message).to.include('spec.size');
  });
});

describe('the controllers of example 06', () => {
  it('reach the same final state, whatever faults are injected into their requests [slow]', async () => {
    await checkConvergence({
      controllers: [memcachedController, workloadController],
      seeds: 5,
      async scenario({ client, settle }) {
        await client.create(Memcached, { metadata: { name: 'sample', namespace }, spec: { size: 3 } });
        await settle();
        await client.patch(Memcached, 'sample', { type: 'merge', patch: { spec: { size: 1 } } }, { namespace });
        await settle();
        await client.delete(Workload, 'sample', { namespace });
      },
    });
  });
});
