import { controller, createClient } from '@homeostat/controller-runtime';
import type { Client } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { eventually, silentLogger, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { KillableServer } from './support/servers/killable-server.ts';
import { Person } from './support/models/models.ts';
import { describeOnShared } from './support/databases/shared-databases.ts';
import type { SharedDatabase } from './support/databases/shared-databases.ts';

interface Lease extends ApiObject {
  readonly spec: { readonly holderIdentity: string; readonly leaseTransitions: number };
}

const lease = defineModel({
  gvk: 'coordination.k8s.io/v1/Lease',
  plural: 'leases',
  scope: 'Namespaced',
  schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
});
const program = new URL('./support/servers/elected-server.js', import.meta.url);
const leaseName = 'test.plugin.homeostat.internal';

describeOnShared('plugins on a shared database', (create) => {
  let database: SharedDatabase;
  const replicas: KillableServer[] = [];
  const servers: TestServer[] = [];

  before(async function open() {
    database = await create(this);
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop();
    for (const replica of replicas.splice(0)) await replica.kill();
  });
  after(() => database?.drop());

  const greetingOf = async (client: Client, name: string): Promise<string | undefined> =>
    (await client.get(Person, name)).status?.greeting;
  const greets = async (client: Client, name: string): Promise<string> => {
    await client.create(Person, { metadata: { name }, spec: { name } });
    return eventually(() => greetingOf(client, name), { timeoutMs: 15_000, describe: `a greeting of ${name}` });
  };

  it('have controllers that run in only one replica, and in another replica after the first one is killed [slow]', async () => {
    const start = async (name: string): Promise<Client> => {
      const replica = await KillableServer.run(program, database.url, name);
      replicas.push(replica);
      return createClient(replica.url);
    };
    const one = await start('one');
    expect(await greets(one, 'ada')).to.equal('one');
    const two = await start('two');
    const names = ['bob', 'carl', 'dora', 'eve'];
    expect(await Promise.all(names.map((name) => greets(two, name)))).to.deep.equal(names.map(() => 'one'));
    const before = await two.get<Lease>(lease as never, leaseName, { namespace: 'default' });
    await replicas[0]?.kill();
    expect(await greets(two, 'fay')).to.equal('two');
    const after = await two.get<Lease>(lease as never, leaseName, { namespace: 'default' });
    expect(after.spec.leaseTransitions).to.equal(before.spec.leaseTransitions + 1);
    expect(after.spec.holderIdentity).not.to.equal(before.spec.holderIdentity);
  });

  it('have controllers that run again after their replica has lost and regained the Lease [slow]', async () => {
    const greeter = controller(Person, {
      name: 'greeter',
      reconcile: async ({ status }) => void (await status({ greeting: 'again' })),
    });
    const times = { leaseDurationMs: '2s', renewDeadlineMs: '1s', retryPeriodMs: '100ms' };
    const server = await startTestServer({
      database: database.url,
      models: [Person],
      controllers: [greeter],
      leaderElection: times,
      logger: silentLogger,
    });
    servers.push(server);
    expect(await greets(server.client, 'gus')).to.equal('again');
    const held = await server.client.get<Lease>(lease as never, leaseName, { namespace: 'default' });
    const { holderIdentity, leaseTransitions } = held.spec;
    const stolen = { holderIdentity: 'thief', leaseTransitions: leaseTransitions + 1, leaseDurationSeconds: 1 };
    await server.client.patch(lease, leaseName, { type: 'merge', patch: { spec: stolen } }, { namespace: 'default' });
    const regained = await eventually(async () => {
      const { spec } = await server.client.get<Lease>(lease as never, leaseName, { namespace: 'default' });
      return spec.leaseTransitions === leaseTransitions + 2 ? spec : undefined;
    });
    expect(regained.holderIdentity).not.to.be.oneOf([holderIdentity, 'thief']);
    expect(await greets(server.client, 'hal')).to.equal('again');
  });

  it('run controllers on every server if `leaderElection` is false; a server with a database in memory creates no Lease', async () => {
    const runs: string[] = [];
    const counting = (name: string) => controller(Person, { name: 'counter', reconcile: () => void runs.push(name) });
    for (const name of ['one', 'two']) {
      servers.push(
        await startTestServer({
          database: database.url,
          models: [Person],
          controllers: [counting(name)],
          leaderElection: false,
        }),
      );
    }
    servers.push(await startTestServer({ models: [Person], controllers: [counting('alone')] }));
    for (const server of [servers[0], servers[2]]) {
      await server?.client.create(Person, { metadata: { name: 'ivy' }, spec: { name: 'ivy' } });
    }
    await eventually(() => new Set(runs).size === 3);
    const alone = await servers[2]?.client.list(lease, { namespace: 'default' });
    expect(alone?.items).to.deep.equal([]);
  });
});
