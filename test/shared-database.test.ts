import { expect } from 'chai';
import { describeOnDatabaseServers } from './support/databases/shared-databases.ts';
import type { SharedDatabase } from './support/databases/shared-databases.ts';
import { TcpProxy } from './support/network/tcp-proxy.ts';
import { TestServer } from './support/servers/test-server.ts';

const path = '/apis/people.example.com/v1alpha1/persons';

function person(name: string, slug: string): object {
  return {
    apiVersion: 'people.example.com/v1alpha1',
    kind: 'Person',
    metadata: { name },
    spec: { name: `${name} of the test`, slug },
  };
}

describeOnDatabaseServers('an API server on a database server', (create) => {
  let database: SharedDatabase;
  let proxy: TcpProxy;
  let server: TestServer;
  before(async function start() {
    database = await create(this);
    proxy = await TcpProxy.start(database.url, 5432);
    server = await TestServer.start({ database: proxy.url });
  });
  after(async () => {
    await server?.stop();
    await proxy?.close();
    await database?.drop();
  });

  it('keeps objects, unique values and the history for resumed watches across a restart', async () => {
    const ann = await server.create(path, person('ann', 'a'));
    await server.create(path, person('bob', 'b'));
    const { body: changed } = await server.patch(`${path}/ann`, { spec: { age: 42 } });
    await server.delete(`${path}/bob`);
    await server.stop();
    server = await TestServer.start({ database: proxy.url });
    const { body } = await server.get(path);
    expect(body.items).to.deep.equal([changed]);
    const watch = await server.watch(`${path}?watch=true&resourceVersion=${ann.metadata.resourceVersion}`);
    await watch.count(3);
    expect(watch.summary).to.deep.equal(['ADDED bob', 'MODIFIED ann', 'DELETED bob']);
    const taken = await server.post(path, person('carl', 'a'));
    expect([taken.status, taken.body.details.causes[0].reason]).to.deep.equal([422, 'FieldValueDuplicate']);
    const dora = await server.create(path, person('dora', 'd'));
    await watch.count(4);
    expect(watch.events.at(-1)?.object).to.deep.equal(dora);
  });

  it('commits all writes and sends all their events, even though all its connections to the database break three times', async () => {
    const watch = await server.watch(`${path}?watch=true&resourceVersion=${await server.revision(path)}`);
    const names = Array.from({ length: 60 }, (_, at) => `p${at}`);
    const creations = names.map(async (name, at) => {
      if (at % 20 === 10) {
        proxy.down();
        proxy.up();
      }
      return server.create(path, person(name, name));
    });
    const revisions = (await Promise.all(creations)).map((object) => Number(object.metadata.resourceVersion));
    await watch.count(names.length);
    const seen = watch.events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(seen).to.deep.equal(revisions.sort((a, b) => a - b));
  });

  it('lets a second server use the same database and read an object that the first server has created', async () => {
    const ann = await server.create(path, person('second', 's'));
    const second = await TestServer.start({ database: database.url });
    expect(await second.get(`${path}/second`)).to.deep.include({ status: 200, body: ann });
    await second.stop();
  });
});
