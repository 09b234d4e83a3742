import { serviceOwner, startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { controller } from '../index.ts';
import type { BlockedKind } from './blocked-deletions.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { sourceNeeding } from '../package/plugin-source.fixture.ts';
import { pluginSource } from '../package/plugin-source.ts';
import { widgetModel } from '../widget.fixture.ts';

const kind = pluginKind('homeostat.internal');
const finalizer = 'widgets.example.com/guard';

describe('deletions that wait for the finalizers of a plugin that does not run', () => {
  const model = widgetModel();
  const guard = controller(model, { name: 'guard', reconcile: async () => undefined, cleanup: async () => undefined });
  let server: ApiServer;
  let host: PluginHost;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = new FakeClock();
    server = await startApiServer({ database: 'memory:', port: 0, clock });
    host = new PluginHost({ server, clock });
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
    expect(clock.pendingTimers, 'timers left behind').to.equal(0);
  });

  const idle = async (): Promise<unknown> =>
    eventually(() => host.isIdle(), { describe: () => JSON.stringify(host.statuses()) });
  const held = async (): Promise<readonly BlockedKind[] | undefined> =>
    (await server.client.get(kind, 'guards')).status?.heldBack;

  async function enable(enabled: boolean, name = 'guards'): Promise<void> {
    await server.client.patch(kind, name, { type: 'merge', patch: { spec: { enabled } } });
    await idle();
  }

  /**
   * Creates each widget a second after the previous one, so that the default order of a list (newest first) differs
   * from the order of names.
   */
  async function createWidgets(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      await clock.advance(1_000);
      await server.client.create(model, { metadata: { name: `w-${index}`, finalizers: [finalizer] } });
    }
    await idle();
  }

  it('are counted in the status of the plugin from its stop until it runs again; the status names at most ten of them', async () => {
    const slow = controller(model, {
      name: 'guard',
      reconcile: async () => undefined,
      cleanup: async () => ({ requeueAfter: 3_600_000 }),
    });
    host.add(pluginSource('guards', { models: [model], controllers: [slow] }));
    await host.start();
    await createWidgets(12);
    for (let index = 0; index < 11; index += 1) await server.client.delete(model, `w-${index}`);
    await idle();
    expect(await held()).to.equal(undefined);
    await enable(false);
    const [only, ...others] = (await held()) ?? [];
    expect(others).to.deep.equal([]);
    expect(only).to.include({ apiVersion: 'widgets.example.com/v1', kind: 'Widget', finalizer, count: 11 });
    expect(only?.names).to.deep.equal(['w-0', 'w-1', 'w-10', ...[2, 3, 4, 5, 6, 7, 8].map((index) => `w-${index}`)]);
    await enable(true);
    expect(await held()).to.equal(undefined);
  });

  async function startApart(): Promise<void> {
    host.add(pluginSource('widgets', { models: [model] }));
    host.add(sourceNeeding('guards', { controllers: [guard] }, ['widgets']));
    await host.start();
  }

  it('are counted every 30 s while another plugin serves the kind', async () => {
    await startApart();
    await createWidgets(2);
    await enable(false);
    expect(await held()).to.equal(undefined);
    await server.client.delete(model, 'w-1');
    await clock.advance(30_000);
    await eventually(async () => (await held()) !== undefined);
    expect(await held()).to.deep.equal([
      { apiVersion: 'widgets.example.com/v1', kind: 'Widget', finalizer, count: 1, names: ['w-1'] },
    ]);
    await enable(true);
    await eventually(async () => (await server.client.list(model)).items.length === 1);
    expect(await held()).to.equal(undefined);
  });

  it('are counted within 30 s after another plugin, which registers the kind, is enabled again', async () => {
    await startApart();
    await createWidgets(1);
    await enable(false);
    await enable(false, 'widgets');
    await clock.advance(30_000);
    await idle();
    await enable(true, 'widgets');
    await server.client.delete(model, 'w-0');
    await clock.advance(30_000);
    await eventually(async () => (await held())?.[0]?.count === 1);
  });

  it('stay in the status of a plugin that is disabled when the host starts', async () => {
    const known = [{ apiVersion: 'x.example.com/v1', kind: 'X', finalizer: 'x.example.com/x', count: 1, names: ['a'] }];
    host.add(pluginSource('guards', { models: [model], controllers: [guard] }));
    await host.start();
    await enable(false);
    await host.stop();
    server.schemeManager.register(kind);
    const object = await server.client.get(kind, 'guards');
    await server.client.updateStatus(object, { ...object.status!, heldBack: known });
    server.schemeManager.unregister(kind, serviceOwner);
    host = new PluginHost({ server, clock });
    host.add(pluginSource('guards', { models: [model], controllers: [guard] }));
    await host.start();
    await idle();
    expect(await held()).to.deep.equal(known);
  });
});
