import { defineModel, defineVersions, isConflict } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import type { ApiServer } from './api-server.ts';
import { startOn } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';

const number = defineModel({
  gvk: 'notes.example.com/v2/Note',
  plural: 'notes',
  schema: { type: 'object', properties: { size: { type: 'integer' } } } as const,
});

const text = defineModel({
  gvk: 'notes.example.com/v1/Note',
  plural: 'notes',
  schema: { type: 'object', properties: { extent: { type: 'string' } } } as const,
});

/** The model of the previous release, which stores v1 and already knows v2. */
const before = defineVersions(text, [
  {
    model: number,
    toStorage: ({ size = 0 }) => ({ extent: `${size} mm` }),
    fromStorage: ({ extent = '' }) => ({ size: Number.parseInt(extent, 10) }),
  },
]);

const after = defineVersions(number, [
  {
    model: text,
    toStorage: ({ extent = '' }) => ({ size: Number.parseInt(extent, 10) }),
    fromStorage: ({ size = 0 }) => ({ extent: `${size} mm` }),
  },
]);

describe('replicas that store a kind in different versions', () => {
  let database: SharedDatabase;
  let old: ApiServer;
  let young: ApiServer;

  const start = async (model: ModelDescriptor): Promise<ApiServer> => {
    const server = await startOn(database.replica(), { port: 0 });
    server.schemeManager.register(model);
    await server.whenReady(model);
    return server;
  };

  beforeEach(async () => {
    database = new SharedDatabase();
    old = await start(before);
    young = await start(after);
  });

  afterEach(async () => {
    await Promise.all([old.stop(), young.stop()]);
    await database.close();
  });

  it('read each other’s writes, in every version', async () => {
    await old.client.create(text, { metadata: { name: 'a' }, extent: '3 mm' });
    await young.client.create(number, { metadata: { name: 'b' }, size: 4 });
    for (const { client } of [old, young]) {
      const [v1, v2] = [await client.list(text, { sort: 'name,asc' }), await client.list(number, { sort: 'name,asc' })];
      expect(v1.items.map(({ extent }) => extent)).to.deep.equal(['3 mm', '4 mm']);
      expect(v2.items.map(({ size }) => size)).to.deep.equal([3, 4]);
    }
  });

  it('overwrite no update of each other, and send watches both updates in the requested version', async () => {
    const created = await old.client.create(text, { metadata: { name: 'a' }, extent: '3 mm' });
    const seen = await young.client.get(number, 'a');
    await old.client.update({ ...created, extent: '5 mm' });
    const late = await young.client.update({ ...seen, size: 9 }).catch((error: unknown) => error);
    expect(isConflict(late)).to.equal(true);
    await young.client.patch(number, 'a', { type: 'merge', patch: { size: 6 } });
    const { resourceVersion } = created.metadata;
    for (const { client } of [old, young]) {
      const extents: (string | undefined)[] = [];
      for await (const { object } of client.watch(text, { resourceVersion })) {
        if ('extent' in object) extents.push(object.extent);
        if (extents.length === 2) break;
      }
      expect(extents).to.deep.equal(['5 mm', '6 mm']);
    }
  });
});
