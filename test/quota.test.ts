import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const quotas = '/api/v1/namespaces/default/resourcequotas';
const configMaps = '/api/v1/namespaces/default/configmaps';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

function quota(name: string, hard: object): object {
  return { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name }, spec: { hard } };
}

describe('a ResourceQuota', () => {
  let folder: string;
  let server: TestServer;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quota-'));
    server = await start();
  });

  afterEach(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  function start(): Promise<TestServer> {
    return TestServer.start({ database: `sqlite:${join(folder, 'a.db')}` });
  }

  /** Creates `count` objects concurrently, and returns the responses. */
  async function createAll(path: string, count: number): Promise<readonly Answer[]> {
    const object = { metadata: { generateName: 'x-' } };
    return Promise.all(Array.from({ length: count }, async () => server.post(path, object)));
  }

  function created(answers: readonly Answer[]): number {
    return answers.filter(({ status }) => status === 201).length;
  }

  async function usedOf(name: string): Promise<unknown> {
    return (await server.get(`${quotas}/${name}`)).body.status?.used;
  }

  it('allows exactly the given number of objects, even with many concurrent creations', async () => {
    await server.create(quotas, quota('few', { 'count/configmaps': '5', 'count/leases.coordination.k8s.io': 3 }));
    expect(created(await createAll(configMaps, 40))).to.equal(5);
    expect(created(await createAll(leases, 40))).to.equal(3);
    expectRefusal(await server.post(configMaps, { metadata: { name: 'one-more' } }), {
      reason: 'Forbidden',
      message:
        /^configmaps "one-more" is forbidden: exceeded quota: few, requested: count\/configmaps=1, used: count\/configmaps=5, limited: count\/configmaps=5$/,
    });
    const named = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' } };
    const applied = await server.patch(`${leases}/l?fieldManager=me`, named, { type: 'application/apply-patch+yaml' });
    expectRefusal(applied, {
      reason: 'Forbidden',
      message:
        /^leases.coordination.k8s.io "l" is forbidden: exceeded quota: few, requested: count\/leases.coordination.k8s.io=1/,
    });
  });

  it('stops counting deleted objects, and shows the usage in its status [slow]', async () => {
    await server.create(quotas, quota('one', { 'count/configmaps': '1' }));
    await server.create(configMaps, { metadata: { name: 'a' } });
    await eventually(async () => JSON.stringify(await usedOf('one')) === '{"count/configmaps":"1"}');
    expect((await server.post(configMaps, { metadata: { name: 'b' } })).status).to.equal(403);
    expect((await server.delete(`${configMaps}/a`)).status).to.equal(200);
    expect((await server.post(configMaps, { metadata: { name: 'b' } })).status).to.equal(201);
    await server.delete(`${configMaps}/b`);
    await eventually(async () => JSON.stringify(await usedOf('one')) === '{"count/configmaps":"0"}');
    expect((await server.get(`${quotas}/one`)).body.status.hard).to.deep.equal({ 'count/configmaps': '1' });
  });

  it('does not count dry runs or failed creations', async () => {
    await server.create(quotas, quota('one', { 'count/configmaps': '1' }));
    for (let index = 0; index < 3; index += 1) {
      expect((await server.post(`${configMaps}?dryRun=All`, { metadata: { name: 'a' } })).status).to.equal(201);
      expect((await server.post(configMaps, { metadata: { name: 'a' }, data: { key: 7 } })).status).to.equal(400);
    }
    await server.create(configMaps, { metadata: { name: 'a' } });
    expect((await server.post(configMaps, { metadata: { name: 'a' } })).body.reason).to.equal('AlreadyExists');
    expect((await server.post(`${configMaps}?dryRun=All`, { metadata: { name: 'b' } })).status).to.equal(403);
  });

  it('uses changed limits, and counts only objects in its own namespace', async () => {
    await server.create('/api/v1/namespaces', { metadata: { name: 'other' } });
    await server.create(quotas, quota('none', { 'count/configmaps': 0 }));
    expect(created(await createAll(configMaps, 3))).to.equal(0);
    expect(created(await createAll('/api/v1/namespaces/other/configmaps', 3))).to.equal(3);
    await server.patch(`${quotas}/none`, { spec: { hard: { 'count/configmaps': '2' } } });
    expect(created(await createAll(configMaps, 5))).to.equal(2);
    await server.delete(`${quotas}/none`);
    expect(created(await createAll(configMaps, 5))).to.equal(5);
  });

  it('counts the existing objects again after a restart [slow]', async () => {
    await server.create(quotas, quota('few', { 'count/configmaps': '3' }));
    expect(created(await createAll(configMaps, 2))).to.equal(2);
    await server.stop();
    server = await start();
    expect(created(await createAll(configMaps, 9))).to.equal(1);
    await eventually(async () => JSON.stringify(await usedOf('few')) === '{"count/configmaps":"3"}');
  });

  it('refuses limits for resources that it cannot count, and limits that are negative or not numbers', async () => {
    for (const [hard, message] of [
      [{ cpu: '1' }, /must be count\/<plural>.<group>, or count\/<plural>/],
      [{ 'count/configmaps': '-1' }, /must be a whole number that is not negative/],
      [{ 'count/configmaps': 'many' }, /must be a whole number that is not negative/],
    ] as const) {
      expectRefusal(await server.post(quotas, quota('bad', hard)), { reason: 'Invalid', message });
    }
  });
});
