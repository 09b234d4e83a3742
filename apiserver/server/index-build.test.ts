import { defineModel, IndexSpec, multiValueAttribute } from '@homeostat/controller-runtime/api';
import type { ListOptions } from '@homeostat/controller-runtime';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { oneStepPerTurn, readingsOf, turnsOf } from '../turns/one-step-per-turn.test-support.ts';
import { startApiServer } from './api-server.ts';
import type { ApiServer } from './api-server.ts';

const objects = 3000;

/** Returns a kind with an index. Its index function calls `onCall` each time. */
function thingModel(onCall: () => void): ModelDescriptor {
  const plain: ModelDescriptor = defineModel({
    gvk: 'things.example.com/v1/Thing',
    plural: 'things',
    schema: { type: 'object', properties: { spec: { type: 'object', properties: { tag: { type: 'string' } } } } },
  });
  const indexFunc = multiValueAttribute(plain, (object) => {
    onCall();
    const { tag } = (object as ApiObject & { readonly spec: { readonly tag: string } }).spec;
    return new Set([tag, 'all']);
  });
  return Object.freeze({ ...plain, indexes: Object.freeze([new IndexSpec({ name: 'tags', indexFunc })]) });
}

describe('the build of the indexes of a kind', () => {
  oneStepPerTurn();

  let folder: string;
  let server: ApiServer;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-'));
    server = await startApiServer({ database: `sqlite:${join(folder, 'test.db')}`, port: 0 });
  });

  afterEach(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('yields to other work after at most 200 objects, and reports its progress [slow]', async () => {
    const model = thingModel(() => undefined);
    server.schemeManager.register(model);
    const create = async (at: number): Promise<unknown> =>
      server.client.create(model, {
        metadata: { name: `thing-${at}` },
        spec: { tag: `tag-${at % 7}` },
      } as unknown as ApiObject);
    for (let from = 0; from < objects; from += 500)
      await Promise.all(Array.from({ length: 500 }, async (_, at) => create(from + at)));
    server.schemeManager.unregister(model, 'service');

    let calls = 0;
    let callsBefore = 0;
    let most = 0;
    let isServed = false;
    const progress = new Set<number | undefined>();
    const again = thingModel(() => (calls += 1));
    server.schemeManager.register(again);
    const lookAtTurn = (): void => {
      most = Math.max(most, calls - callsBefore);
      callsBefore = calls;
      progress.add(server.indexingProgress(again));
      if (!isServed) setImmediate(lookAtTurn);
    };
    lookAtTurn();
    const answer = await fetch(`${server.url}/livez`);
    expect(answer.status).to.equal(200);
    expect(calls, 'the response was sent while indexes were built').to.be.below(objects);
    await server.whenReady(again);
    isServed = true;
    expect(calls, 'the objects, and a sample of 1,000').to.equal(objects + 1000);
    expect(most).to.be.at.most(200);
    expect(
      [...progress].filter((indexed) => indexed !== undefined && indexed > 0 && indexed < objects),
    ).to.not.have.length(0);
    const found = await server.client.list(again, { fieldSelector: 'tags=tag-3', sort: 'tags,desc' });
    expect(found.items).to.have.length(Math.ceil((objects - 3) / 7));
  });

  it('reads a large object in many turns of the event loop', async () => {
    const list = { type: 'array', items: { type: 'integer' } };
    const model: ModelDescriptor = defineModel({
      gvk: 'things.example.com/v1/List',
      plural: 'lists',
      schema: { type: 'object', properties: { spec: { type: 'object', properties: { list } } } },
    });
    const open = (): Promise<number> =>
      readingsOf(async () => {
        server.schemeManager.register(model);
        await server.whenReady(model);
      });
    await open();
    const add = async (name: string, length: number): Promise<void> => {
      const spec = { list: Array.from({ length }, () => 1) };
      await server.client.create(model, { metadata: { name }, spec } as unknown as ApiObject);
      server.schemeManager.unregister(model, 'service');
    };
    await add('small', 10);
    const before = await open();
    // The 200,000 items are 400 KB of JSON, and one step reads 16 KB of it, so reading the object takes about 25 steps.
    await add('large', 200_000);
    expect(await open()).to.be.above(before + 20);
  });

  it('yields to other work while the first list with a label selector or a sort builds an index [slow]', async () => {
    const model = thingModel(() => undefined);
    server.schemeManager.register(model);
    await server.whenReady(model);
    const create = async (at: number): Promise<unknown> =>
      server.client.create(model, {
        metadata: { name: `thing-${at}`, labels: { app: `app-${at % 3}` } },
        spec: { tag: `tag-${at % 7}` },
      } as unknown as ApiObject);
    for (let from = 0; from < objects; from += 500)
      await Promise.all(Array.from({ length: 500 }, async (_, at) => create(from + at)));

    const totals: (number | undefined)[] = [];
    const list = async (options: ListOptions): Promise<unknown> =>
      totals.push((await server.client.list(model, { limit: 1, ...options })).total);
    // Each of the first two lists builds an index of the 3,000 objects, which takes more than 15 turns. The third list
    // finds both indexes built.
    expect(await turnsOf(() => list({ labelSelector: 'app=app-1' }))).to.be.above(15);
    expect(await turnsOf(() => list({ sort: 'tags,desc' }))).to.be.above(15);
    expect(await turnsOf(() => list({ labelSelector: 'app=app-1', sort: 'tags,desc' }))).to.be.below(5);
    expect(totals).to.deep.equal([objects / 3, objects, objects / 3]);

    // A watch builds a missing index, starts with the matching objects, and then receives the changes that happened
    // during the build.
    server.schemeManager.unregister(model, 'service');
    server.schemeManager.register(model);
    await server.whenReady(model);
    const watch = server.client.watch(model, { labelSelector: 'app=app-2', sendInitialEvents: true });
    const names = new Set<string>();
    const late = create(objects + 2);
    for await (const { object } of watch) {
      const { name } = (object as ApiObject).metadata;
      expect(names.has(name), name).to.equal(false);
      names.add(name);
      if (names.size === objects / 3 + 1) break;
    }
    await late;
  });

  it('lets garbage collection delete objects only once the collector knows all objects of a large kind [slow]', async () => {
    const model = thingModel(() => undefined);
    const owners: ModelDescriptor = defineModel({
      gvk: 'things.example.com/v1/Owner',
      plural: 'owners',
      schema: { type: 'object', properties: {} },
    });
    server.schemeManager.register(model);
    server.schemeManager.register(owners);
    const { uid } = (await server.client.create(owners, { metadata: { name: 'owner' } })).metadata;
    const reference = {
      apiVersion: 'things.example.com/v1',
      kind: 'Owner',
      name: 'owner',
      uid,
      blockOwnerDeletion: true,
    };
    const total = 5500;
    const create = async (at: number): Promise<unknown> => {
      const ownerReferences = at % 50 === 49 ? [reference] : [];
      const object = { metadata: { name: `thing-${at}`, ownerReferences }, spec: { tag: 'a' } };
      return server.client.create(model, object);
    };
    for (let from = 0; from < total; from += 500)
      await Promise.all(Array.from({ length: 500 }, async (_, at) => create(from + at)));
    server.schemeManager.unregister(model, 'service');
    await server.client.delete(owners, 'owner', { propagationPolicy: 'Foreground' });
    await eventually(() => server.isIdle());
    expect((await server.client.list(owners)).items).to.have.length(1);

    server.schemeManager.register(model);
    await server.whenReady(model);
    expect(server.isIdle()).to.equal(false);
    await eventually(async () => (await server.client.list(owners)).items.length === 0);
    expect((await server.client.list(model, { limit: 1 })).total).to.equal(total - total / 50);
    await eventually(() => server.isIdle());
  });
});
