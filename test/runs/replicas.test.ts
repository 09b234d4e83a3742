import { controller } from '@homeostat/controller-runtime';
import { controllerModel, defineModel, runModel } from '@homeostat/controller-runtime/api';
import type { Run } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { eventually, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { describeOnShared } from '../support/databases/shared-databases.ts';
import type { SharedDatabase } from '../support/databases/shared-databases.ts';

const Person = defineModel({
  gvk: 'people.example.com/v1alpha1/Person',
  plural: 'persons',
  schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { name: { type: 'string' } } } },
  } as const,
});

describeOnShared('records of runs with two replicas', (create) => {
  const servers: TestServer[] = [];
  const ran: string[] = [];
  let database: SharedDatabase;

  /** Starts a replica whose reconciler records the name of the replica. */
  async function start(name: string): Promise<TestServer> {
    const persons = controller(Person, {
      async reconcile() {
        ran.push(name);
      },
    });
    const parts = { models: [Person], controllers: [persons], leaderElection: true, reportRuns: true };
    return startTestServer({ ...parts, database: database.url });
  }

  before(async function () {
    database = await create(this);
    for (const name of ['first', 'second']) servers.push(await start(name));
  });

  after(async () => {
    await Promise.all(servers.map(async (server) => server.stop()));
    await database?.drop();
  });

  const runsAt = async (server: TestServer | undefined, name: string): Promise<readonly Run[]> =>
    (await server?.httpClient.list(runModel, { fieldSelector: `object.name=${name}` }))?.items ?? [];

  it('are equal on both replicas, although only one of them reconciles', async () => {
    const [first, second] = servers;
    await second?.client.create(Person, { metadata: { name: 'ada' }, spec: {} });
    await eventually(async () => (await runsAt(first, 'ada')).length > 0);
    await eventually(async () => (await runsAt(second, 'ada')).length > 0);
    expect(new Set(ran).size).to.equal(1);
    const names = async (server: TestServer | undefined): Promise<readonly string[]> =>
      (await runsAt(server, 'ada')).map(({ metadata }) => metadata.name).toSorted();
    expect(await names(second)).to.deep.equal(await names(first));
    const states = await Promise.all(
      servers.map(async ({ httpClient }) => httpClient.get(controllerModel, 'test.person')),
    );
    expect(states[0]?.status?.leader?.identity).to.be.a('string');
    expect(states[1]?.status?.leader).to.deep.equal(states[0]?.status?.leader);
  });

  it('are written by the other replica after the leader has stopped [slow]', async () => {
    const isFirst = ran.includes('first');
    const [leader, other] = isFirst ? servers : servers.toReversed();
    await leader?.stop();
    servers.splice(isFirst ? 0 : 1, 1);
    await other?.client.create(Person, { metadata: { name: 'bob' }, spec: {} });
    await eventually(async () => (await runsAt(other, 'bob')).length > 0);
    expect(await runsAt(other, 'ada'), 'those of the replica that stopped').not.to.deep.equal([]);
    expect(new Set(ran).size).to.equal(2);
  });
});
