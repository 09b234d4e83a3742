import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { itOnShared } from './support/databases/shared-databases.ts';
import { TestServer } from './support/servers/test-server.ts';

const accountsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/serviceaccounts`;

async function uidIn(namespace: string, at: TestServer): Promise<string> {
  return eventually(async () => {
    const { status, body } = await at.get(`${accountsOf(namespace)}/default`);
    expect(status).to.equal(200);
    return String(body.metadata.uid);
  });
}

async function createNamespace(name: string, at: TestServer): Promise<void> {
  expect((await at.post('/api/v1/namespaces', { metadata: { name } })).status).to.equal(201);
}

describe('The ServiceAccount "default"', () => {
  const clock = new FakeClock();
  let server: TestServer;

  before(async () => {
    server = await TestServer.start({ clock });
  });
  after(async () => server.stop());

  it('is in the namespace "default" from the start', async () => {
    const { status, body } = await server.get(`${accountsOf('default')}/default`);
    expect(status).to.equal(200);
    expect(body).to.not.have.nested.property('metadata.labels');
  });

  it('is created in each namespace, and created again with a new uid when it is deleted', async () => {
    await createNamespace('team', server);
    const first = await uidIn('team', server);
    expect((await server.delete(`${accountsOf('team')}/default`)).status).to.equal(200);
    await eventually(async () => expect(await uidIn('team', server)).not.to.equal(first));
    expect((await server.delete(accountsOf('team'))).status).to.equal(200);
    await uidIn('team', server);
    const { body } = await server.get(accountsOf('team'));
    expect(body.items).to.have.length(1);
  });

  it('is not created in a namespace that is being deleted', async () => {
    await createNamespace('leaving', server);
    await uidIn('leaving', server);
    expect((await server.delete('/api/v1/namespaces/leaving')).status).to.be.oneOf([200, 202]);
    expect((await server.delete(`${accountsOf('leaving')}/default`)).status).to.equal(200);
    await clock.advance(5000);
    await eventually(async () => expect((await server.get('/api/v1/namespaces/leaving')).status).to.equal(404));
    expect((await server.get(accountsOf('leaving'))).body.items).to.deep.equal([]);
  });
});

describe('The ServiceAccount "default" on two replicas', () => {
  itOnShared('is created only once in each namespace, and keeps its uid after a restart', async (database) => {
    const start = async (): Promise<TestServer> => TestServer.start({ database });
    let running: readonly TestServer[] = [];
    try {
      running = await Promise.all([start(), start()]);
      const [one, two] = running;
      if (one === undefined || two === undefined) throw new Error('two servers are not running');
      const names = Array.from({ length: 10 }, (_each, index) => `n${index}`);
      await Promise.all(names.map(async (name, index) => createNamespace(name, index % 2 === 0 ? one : two)));
      const uids = await Promise.all(names.map(async (name) => uidIn(name, one)));
      expect(await Promise.all(names.map(async (name) => uidIn(name, two)))).to.deep.equal(uids);
      await Promise.all(running.map(async (each) => each.stop()));
      const again = await start();
      running = [again];
      expect(await Promise.all(names.map(async (name) => uidIn(name, again)))).to.deep.equal(uids);
    } finally {
      await Promise.all(running.map(async (each) => each.stop()));
    }
  });
});
