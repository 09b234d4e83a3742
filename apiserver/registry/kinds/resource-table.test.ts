import { defineModel, IndexSpec, simpleAttribute } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { startApiServer } from '../../server/api-server.ts';
import type { ApiServer } from '../../server/api-server.ts';
import { serviceOwner } from './scheme-manager.ts';

/** More writes than the store commits in one batch. */
const manyWrites = 1_500;

function thingModel(onIndexed: () => void = () => undefined): ModelDescriptor {
  const base = defineModel({
    gvk: 'things.example.com/v1/Thing',
    plural: 'things',
    schema: { type: 'object', properties: { spec: { type: 'string' } } },
  });
  const indexFunc = simpleAttribute(base, ({ metadata }) => {
    onIndexed();
    return metadata.name;
  });
  return { ...base, indexes: [new IndexSpec({ name: 'watched', unique: true, indexFunc })] };
}

describe('a kind that is unregistered and registered again', () => {
  let server: ApiServer;
  const Thing = thingModel();

  beforeEach(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
    server.schemeManager.register(Thing);
    await server.whenReady(Thing);
  });

  afterEach(async () => server.stop());

  const create = async (number: number): Promise<unknown> =>
    server.client.create(Thing, { metadata: { name: `t-${number}` } });

  it('has exactly the objects whose creation was acknowledged', async () => {
    const creations = Array.from({ length: manyWrites }, async (_, number) => create(number));
    // When the first creation resolves, one batch is stored, and the other creations wait.
    await Promise.race(creations);
    server.schemeManager.unregister(Thing, serviceOwner);
    server.schemeManager.register(Thing);
    const late = create(manyWrites);
    const outcomes = await Promise.allSettled(creations);
    await late;
    const { items } = await server.client.list(Thing);
    const acknowledged = outcomes.flatMap(({ status }, number) => (status === 'fulfilled' ? [`t-${number}`] : []));
    expect(items.map(({ metadata }) => metadata.name)).to.have.members([...acknowledged, `t-${manyWrites}`]);
  });

  it('when it is unregistered while its objects are being indexed, the server does not index the remaining ones [slow]', async () => {
    await Promise.all(Array.from({ length: manyWrites }, async (_, number) => create(number)));
    server.schemeManager.unregister(Thing, serviceOwner);
    let indexed = 0;
    const counted = thingModel(() => (indexed += 1));
    server.schemeManager.register(counted);
    const ready = server.whenReady(counted).catch((error: unknown) => String(error));
    server.schemeManager.unregister(counted, serviceOwner);
    expect(await ready).to.include('was unregistered while it was being indexed');
    expect(indexed).to.be.lessThan(manyWrites);
  });
});

describe('a kind whose objects could not be indexed', () => {
  it('is reported as not served, and not as being indexed', async () => {
    const server = await startApiServer({ database: 'memory:', port: 0 });
    try {
      const Plain = { ...thingModel(), indexes: [] };
      server.schemeManager.register(Plain);
      await server.whenReady(Plain);
      const labels = { owner: 'ada' };
      await server.client.create(Plain, { metadata: { name: 'a', labels } });
      await server.client.create(Plain, { metadata: { name: 'b', labels } });
      server.schemeManager.unregister(Plain, serviceOwner);

      const indexFunc = simpleAttribute(Plain, ({ metadata }) => metadata.labels?.['owner']);
      const Unique = { ...Plain, indexes: [new IndexSpec({ name: 'byOwner', unique: true, indexFunc })] };
      server.schemeManager.register(Unique);
      const failed = await server.whenReady(Unique).catch((error: unknown) => error);
      expect(failed).to.have.property('name', 'IndexBuildError');
      const refused = await fetch(`${server.url}/apis/things.example.com/v1/things`);
      expect(refused.status).to.equal(503);
      expect(await refused.json()).to.have.property(
        'message',
        'things.things.example.com is not served, because its objects could not be indexed',
      );
      const inProcess = await server.client.get(Unique, 'a').catch((error: unknown) => error);
      expect(inProcess).to.include({
        reason: 'ServiceUnavailable',
        message: 'things.things.example.com is not served, because its objects could not be indexed',
      });
    } finally {
      await server.stop();
    }
  });
});
