import { controller, createManager } from '@homeostat/controller-runtime';
import type { Client, Informer } from '@homeostat/controller-runtime';
import { defineVersions } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { gadget, gadgetV1, gadgetV2 } from './support/models/gadget-versions.ts';
import { TestServer } from './support/servers/test-server.ts';

/** The functions of {@link gadget} that convert its objects between v1 and v2. */
const [{ toStorage, fromStorage } = {}] = gadget.versions ?? [];
/** The kind of {@link gadget}, but with v1 as the storage version. */
const gadgetStoredAsV1: ModelDescriptor = defineVersions(gadgetV1, [
  {
    model: { ...gadgetV2, indexes: [] },
    ...(fromStorage && { toStorage: fromStorage }),
    ...(toStorage && { fromStorage: toStorage }),
  },
]);

describe('an in-process informer of a kind in several versions', () => {
  let server: TestServer;
  let client: Client;
  const ending: AbortController[] = [];
  const runs: Promise<void>[] = [];

  beforeEach(async () => {
    server = await TestServer.start();
    client = server.api.client;
    await serve(gadget);
  });

  afterEach(async () => {
    for (const each of ending.splice(0)) each.abort();
    await Promise.all(runs.splice(0));
    await server.stop();
  });

  const serve = async (model: ModelDescriptor): Promise<void> => {
    server.api.schemeManager.register(model);
    await server.api.whenReady(model);
  };

  const run = <T extends ApiObject>(informer: Informer<T>): Informer<T> => {
    const abort = new AbortController();
    ending.push(abort);
    runs.push(informer.run(abort.signal));
    return informer;
  };

  for (const model of [gadgetV1, gadgetV2]) {
    it(`continues to follow the kind in ${model.version} when the kind is served again`, async () => {
      const informer = run(client.informer<ApiObject>(model));
      await eventually(() => informer.hasSynced());
      server.api.schemeManager.unregister(gadget, 'service');
      await serve(gadget);
      await client.create(gadgetV2, { metadata: { name: 'late' }, spec: { size: 3 } });
      await eventually(() => informer.get({ name: 'late' }) !== undefined);
    });
  }

  it('passes events to a slow handler in the version of the informer, even if the storage version has changed since', async () => {
    const seen: (string | undefined)[] = [];
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const informer = client.informer(gadgetV1);
    informer.addHandler({
      onAdd: async ({ spec }) => {
        seen.push(spec?.extent);
        await held;
      },
      onUpdate: (previous, { spec }) => void seen.push(`${previous.spec?.extent} -> ${spec?.extent}`),
    });
    run(informer);
    await client.create(gadgetV2, { metadata: { name: 'a' }, spec: { size: 3 } });
    await eventually(() => seen.length === 1);
    await client.patch(gadgetV2, 'a', { type: 'merge', patch: { spec: { size: 4 } } });
    server.api.schemeManager.unregister(gadget, 'service');
    await serve(gadgetStoredAsV1);
    release();
    await eventually(() => seen.length === 2);
    expect(seen).to.deep.equal(['3 mm', '3 mm -> 4 mm']);
  });

  it('receives an object as soon as the object can be converted to the version of the informer', async () => {
    await client.create(gadgetV2, { metadata: { name: 'a' }, spec: { size: 3, code: 'odd' } });
    const informer = client.informer(gadgetV1);
    const seen: (string | undefined)[] = [];
    informer.addHandler({ onAdd: ({ spec }) => void seen.push(spec?.code) });
    run(informer);
    await eventually(() => informer.hasSynced());
    await client.patch(gadgetV2, 'a', { type: 'merge', patch: { spec: { code: 'even' } } });
    await eventually(() => seen.length > 0);
    expect(seen).to.deep.equal(['even']);
  });

  it('finds other objects by its indexes when one object cannot be converted to the version of the informer', async () => {
    await client.create(gadgetV2, { metadata: { name: 'before' }, spec: { size: 3, code: 'odd' } });
    await client.create(gadgetV2, { metadata: { name: 'a' }, spec: { size: 3 } });
    const informer = client.informer(gadgetV1);
    informer.addIndex('extent', ({ spec }) => [spec?.extent ?? '']);
    const names: string[] = [];
    informer.addHandler({ onAdd: ({ metadata }) => void names.push(metadata.name) });
    run(informer);
    await eventually(() => informer.hasSynced());
    await client.delete(gadgetV2, 'before');
    await client.create(gadgetV2, { metadata: { name: 'after' }, spec: { size: 3, code: 'odd' } });
    await client.create(gadgetV2, { metadata: { name: 'b' }, spec: { size: 3 } });
    await eventually(() => names.includes('b'));
    expect(informer.byIndex('extent', '3 mm').map(({ metadata }) => metadata.name)).to.have.members(['a', 'b']);
    expect(names).to.have.members(['a', 'b']);
  });

  it('lets a run end with a conflict when its object can no longer be converted to the version of the controller', async () => {
    const created = await client.create(gadgetV1, { metadata: { name: 'a' }, spec: { extent: '3 mm' } });
    const { resourceVersion } = created.metadata;
    const vandal = controller(gadgetV1, {
      name: 'vandal',
      async reconcile({ client: own }) {
        await client.patch(gadgetV2, 'a', { type: 'merge', patch: { spec: { code: 'odd' } } });
        await own.delete(gadgetV1, 'a', { preconditions: { resourceVersion } });
      },
    });
    const manager = createManager({ client, controllers: [vandal] });
    const abort = new AbortController();
    const running = manager.run(abort.signal);
    await eventually(() => manager.runs('vandal', { key: 'a' }).some(({ result }) => result === 'conflict'));
    await eventually(() => manager.stateOf('vandal', 'a')?.state !== 'processing');
    abort.abort();
    await running;
  });
});
