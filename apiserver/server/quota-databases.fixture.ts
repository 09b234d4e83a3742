import { reasonOf } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { configMapKind } from '../builtin/config-map-kind.ts';
import { resourceQuotaKind } from '../builtin/resource-quota-kind.ts';
import type { ResourceQuotaObject } from '../builtin/resource-quota-kind.ts';
import type { Store } from '../store/store.ts';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';

const namespace = 'default';
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
const Quota = resourceQuotaKind as unknown as ModelDescriptor<ResourceQuotaObject>;
const most = 10;

/** Adds the tests of quotas for two servers on one database, which `newDatabase` creates. */
export function describeQuota(newDatabase: () => Promise<() => Store>): void {
  let servers: readonly [ApiServer, ApiServer];

  beforeEach(async () => {
    const storeOf = await newDatabase();
    servers = [await startOn(storeOf(), { port: 0 }), await startOn(storeOf(), { port: 0 })];
    const spec = { hard: { 'count/configmaps': most } };
    await servers[0].client.create(Quota, { metadata: { name: 'few', namespace }, spec });
    // After these reads, each server has the quota in memory.
    for (const { client } of servers) await client.get(Quota, 'few', { namespace });
  });

  afterEach(async () => {
    await Promise.all(servers.map((server) => server.stop()));
  });

  async function create(at: number, name: string): Promise<number> {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(object) };
    const response = await fetch(`${servers[at % 2]?.url}${configMaps}`, init);
    await response.text();
    return response.status;
  }

  async function createAll(prefix: string): Promise<readonly number[]> {
    return Promise.all(Array.from({ length: 40 }, (_each, index) => create(index, `${prefix}-${index}`)));
  }

  async function remove(at: number, name: string): Promise<void> {
    const { status } = await fetch(`${servers[at % 2]?.url}${configMaps}/${name}`, { method: 'DELETE' });
    expect(status).to.equal(200);
  }

  function expectTen(statuses: readonly number[], created: readonly string[]): void {
    expect(created).to.have.length(most);
    expect(statuses.toSorted()).to.deep.equal([...Array(most).fill(201), ...Array(40 - most).fill(403)]);
  }

  async function names(at = 0): Promise<readonly string[]> {
    const { items } = await (servers[at] as ApiServer).client.list(configMapKind, { namespace });
    return items.map(({ metadata }) => metadata.name);
  }

  it('a quota of 10 allows exactly 10 of 40 concurrent creations at two servers, and 10 more after those 10 are deleted', async () => {
    for (let round = 0; round < 5; round += 1) {
      expectTen(await createAll(`round${round}`), await names());
      expect(await names(1)).to.have.members(await names());
      await Promise.all((await names()).map((name, index) => remove(index, name)));
    }
    const used = async (): Promise<unknown> =>
      (await servers[1].client.get(Quota, 'few', { namespace })).status?.used?.['count/configmaps'];
    await eventually(async () => expect(await used()).to.equal('0'));
  });

  it('lets a server create an object under a full quota as soon as the other server has deleted one', async () => {
    expectTen(await createAll('x'), await names());
    for (let round = 0; round < 10; round += 1) {
      expect(await create(round, 'too-many')).to.equal(403);
      await remove(round, (await names())[0] ?? '');
      expect(await create(round + 1, `next-${round}`)).to.equal(201);
    }
    expect(await names()).to.have.length(most);
  });

  it('a quota of 10 allows at most 10 objects while two servers delete and create concurrently, and exactly 10 afterwards', async () => {
    await createAll('x');
    const first = await names();
    const [statuses] = await Promise.all([
      createAll('y'),
      Promise.all(first.map((name, index) => remove(index, name))),
    ]);
    expect(statuses.filter((status) => status !== 201 && status !== 403)).to.deep.equal([]);
    const kept = await names();
    expect(kept).to.have.length(statuses.filter((status) => status === 201).length);
    expect(kept.length).to.be.at.most(most);
    const more = await createAll('z');
    expect(more.filter((status) => status === 201)).to.have.length(most - kept.length);
    expect(await names()).to.have.length(most);
  });

  it('refuses a creation when the other server has used up the quota, with a message that names the quota', async () => {
    for (let index = 0; index < most; index += 1) expect(await create(0, `x-${index}`)).to.equal(201);
    const metadata = { name: 'too-many', namespace };
    const refused: unknown = await servers[1].client
      .create(configMapKind, { metadata })
      .catch((error: unknown) => error);
    expect(reasonOf(refused)).to.equal('Forbidden');
    expect(String(refused)).to.include('exceeded quota: few, requested: count/configmaps=1, used: count/configmaps=10');
  });
}
