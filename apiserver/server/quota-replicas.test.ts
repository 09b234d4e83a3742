import { reasonOf } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { systemClock } from '@homeostat/controller-runtime';
import { resourceQuotaKind } from '../builtin/resource-quota-kind.ts';
import type { ResourceQuotaObject } from '../builtin/resource-quota-kind.ts';
import { configMapKind } from '../builtin/config-map-kind.ts';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

const namespace = 'default';
const Quota = resourceQuotaKind as unknown as ModelDescriptor<ResourceQuotaObject>;

describe('a ResourceQuota, where several servers create objects', function () {
  this.timeout(20_000);
  let database: SharedDatabase;
  let stores: ReplicaStore[];
  let servers: ApiServer[];

  beforeEach(async () => {
    database = new SharedDatabase();
    stores = [0, 1, 2].map(() => database.replica());
    servers = [];
    for (const store of stores) servers.push(await startOn(store, { port: 0 }));
  });

  afterEach(async () => {
    await Promise.all(servers.map(async (server) => server.stop()));
    await database.close();
  });

  async function setQuota(count: number): Promise<void> {
    const [first] = servers;
    const spec = { hard: { 'count/configmaps': count } };
    await first?.client.create(Quota, {
      metadata: { name: 'few', namespace },
      spec,
    });
    // After these reads, each server has the quota in memory.
    for (const server of servers) await server.client.get(Quota, 'few', { namespace });
  }

  /** Creates an object. Returns the reason if the creation is refused. */
  async function create(server: ApiServer, name: string): Promise<string | undefined> {
    return server.client.create(configMapKind, { metadata: { name, namespace } }).then(() => undefined, reasonOf);
  }

  it('lets the servers together create exactly as many objects as it allows, and refuses all others as forbidden', async () => {
    await setQuota(25);
    const outcomes = await Promise.all(
      servers.flatMap((server, at) =>
        Array.from({ length: 30 }, async (_item, index) => create(server, `x-${at}-${index}`)),
      ),
    );
    const [first] = servers;
    expect((await first?.client.list(configMapKind, { namespace }))?.items).to.have.length(25);
    expect(outcomes.filter((outcome) => outcome === undefined)).to.have.length(25);
    expect(new Set(outcomes)).to.deep.equal(new Set([undefined, 'Forbidden']));
  });

  it('lets a server create an object as soon as another server has deleted one', async () => {
    await setQuota(1);
    for (let round = 0; round < 6; round += 1) {
      const [creator, deleter] = [servers[round % 3], servers[(round + 1) % 3]] as [ApiServer, ApiServer];
      expect(await create(creator, `x-${round}`)).to.equal(undefined);
      expect(await create(deleter, 'too-many')).to.equal('Forbidden');
      await deleter.client.delete(configMapKind, `x-${round}`, { namespace });
    }
  });

  it('is not exceeded by a server that has not yet read the changes of the other servers', async () => {
    await setQuota(2);
    const [ahead, behind] = servers as [ApiServer, ApiServer];
    expect(await create(behind, 'a')).to.equal(undefined);
    const store = stores[1] as ReplicaStore;
    store.isDeaf = true;
    expect(await create(ahead, 'b')).to.equal(undefined);
    expect(await create(behind, 'c')).to.equal('Forbidden');
  });

  it('makes a creation wait longer each time another server takes over the count of the quota’s objects before the commit [slow]', async () => {
    const share = 0.41;
    const [firstMs, ...laterMs] = [30, 60, 120, 240].map((ms) => share * ms);
    const waitsMs: number[] = [];
    const store = database.replica();
    const clock = {
      ...systemClock,
      setTimeout: (call: () => void, ms: number) => {
        waitsMs.push(ms);
        return systemClock.setTimeout(call, ms);
      },
    };
    const server = await startOn(store, { port: 0, clock, random: () => share });
    servers.push(server);
    await setQuota(100);
    await server.client.get(Quota, 'few', { namespace });
    const [other] = servers as [ApiServer];
    await create(other, 'first');
    let steals = 3;
    store.beforeCommit = async (batch) => {
      if (steals === 0 || !batch.some(({ key }) => key.endsWith('late'))) return;
      steals -= 1;
      expect(await create(other, `steal-${steals}`)).to.equal(undefined);
    };
    expect(await create(server, 'late')).to.equal(undefined);
    const turns = waitsMs.filter((ms) => ms === firstMs || laterMs.includes(ms));
    expect(turns).to.deep.equal([firstMs, ...laterMs]);
    // Only one server at a time counts the objects under the quota, and only this server can create such objects. Each
    // time another server takes over the count, the creation waits longer before it tries again. After a successful
    // creation, the next wait is the shortest again. The creation of `late` has succeeded.
    waitsMs.length = 0;
    await create(other, 'again');
    expect(await create(server, 'once-more')).to.equal(undefined);
    expect(waitsMs).to.include(firstMs);
  });
});
