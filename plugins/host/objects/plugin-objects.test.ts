import { serviceOwner, startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { ApiError } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { isNotFound } from '../index.ts';
import type { Client, Plugin } from '../index.ts';
import { makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { pluginKind } from './plugin-kind.ts';
import type { PluginObject, PluginSpec } from './plugin-kind.ts';
import { sourceNeeding } from '../package/plugin-source.fixture.ts';
import { pluginSource } from '../package/plugin-source.ts';
import { widgetModel } from '../widget.fixture.ts';

const kind = pluginKind('homeostat.internal');
const rejecting = async (): Promise<never> => {
  throw new ApiError('ServiceUnavailable', 'the disk is full');
};
const never = async (): Promise<never> => new Promise<never>(() => undefined);

describe('Plugin objects', () => {
  let server: ApiServer;
  let host: PluginHost;
  let clock: FakeClock;
  let ownKinds: ReturnType<ApiServer['schemeManager']['list']>;
  let warnings: string[];
  let calls: string[];

  function newHost(client: Client = server.client): PluginHost {
    const { schemeManager, endpoints, assets } = server;
    const parts = {
      schemeManager,
      endpoints,
      assets,
      metrics: server.metrics,
      client,
      sharesDatabase: server.sharesDatabase,
      admissions: server.admissions,
      createPluginClient: server.createPluginClient.bind(server),
      whenReady: server.whenReady.bind(server),
      indexingProgress: server.indexingProgress.bind(server),
    };
    const nothing = (): void => undefined;
    const warn = (_fields: object, message: string): void => void warnings.push(message);
    return new PluginHost({ server: parts, clock, logger: { debug: nothing, info: nothing, warn, error: nothing } });
  }

  beforeEach(async () => {
    warnings = [];
    calls = [];
    clock = new FakeClock();
    server = await startApiServer({ database: 'memory:', port: 0 });
    ownKinds = server.schemeManager.list();
    host = newHost();
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
    await removeFolders();
    expect(clock.pendingTimers, 'timers left behind').to.equal(0);
    expect(server.schemeManager.list(), 'kinds left behind').to.deep.equal(ownKinds);
  });

  /** Adds a plugin; the default plugin adds its starts and stops to `calls`. */
  function add(name: string, dependencies: readonly string[] = [], plugin: Plugin = noting(name)): void {
    host.add(sourceNeeding(name, plugin, dependencies));
  }

  const noting = (name: string): Plugin => ({
    start: () => void calls.push(`start ${name}`),
    stop: () => void calls.push(`stop ${name}`),
  });

  async function started(): Promise<void> {
    await host.start();
    await idle();
  }

  const idle = async (): Promise<unknown> =>
    eventually(() => host.isIdle(), { describe: () => JSON.stringify(host.statuses()) });
  const object = async (name: string): Promise<PluginObject> => server.client.get(kind, name);
  const ready = async (name: string): Promise<unknown> =>
    (await object(name)).status?.conditions?.find(({ type }) => type === 'Ready');

  async function change(name: string, spec: Partial<PluginSpec>): Promise<void> {
    await server.client.patch(kind, name, { type: 'merge', patch: { spec } });
    await idle();
  }

  /**
   * Watches a Plugin object from the revision of `from`. Returns each change as its type and phase, up to the change
   * `last`.
   */
  async function phasesUntil(last: string, name: string, from: PluginObject): Promise<readonly string[]> {
    const { resourceVersion } = from.metadata;
    const seen: string[] = [];
    for await (const { type, object: changed } of server.client.watch(kind, {
      resourceVersion,
      fieldSelector: `metadata.name=${name}`,
    })) {
      seen.push(`${type} ${(changed as PluginObject).status?.phase}`);
      if (seen.at(-1) === last) return seen;
    }
    return seen;
  }

  it('show fields of the manifest in spec, and the observed state in status', async () => {
    const manifest = [
      'name: full',
      'version: 1.2.3',
      'displayName: Full',
      'description: All of it',
      'group: full.example.com',
      'dependencies: { other?: ^1.0.0 }',
      'settings: { type: object, properties: { ink: { type: integer, default: 1 } } }',
    ].join('\n');
    await host.addFolder(await makePlugin('full', 'export default {};', { 'plugin.yaml': manifest }));
    await started();
    const { spec, status, metadata } = await object('full');
    expect(spec).to.deep.equal({
      enabled: true,
      version: '1.2.3',
      displayName: 'Full',
      description: 'All of it',
      revision: '2.15',
      requires: '*',
      group: 'full.example.com',
      dependencies: [{ name: 'other', range: '^1.0.0', optional: true }],
      settingsSchema: { type: 'object', properties: { ink: { type: 'integer', default: 1 } } },
    });
    const stated = { observedGeneration: 1, lastTransitionTime: '2030-01-01T00:00:00Z', message: '' };
    expect(status).to.deep.equal({
      phase: 'Started',
      observedVersion: '1.2.3',
      conditions: [
        { type: 'Ready', status: 'True', reason: 'Started', ...stated },
        { type: 'IndexesBuilt', status: 'True', reason: 'Built', ...stated },
        { type: 'ObjectsApplied', status: 'True', reason: 'Applied', ...stated },
      ],
    });
    expect(metadata.generation).to.equal(1);
  });

  it('exist for refused plugins, if the name of the plugin is a valid name of an object', async () => {
    await host.addFolder('/nowhere/at-all');
    await host.addFolder('/nowhere/No Object');
    await host.addFolder(
      await makePlugin('old', '', { 'plugin.yaml': 'name: old\nversion: 1.0.0\nrequires: ^9.0.0\n' }),
    );
    add('good');
    await host.addFolder(await makePlugin('good', 'export default {};'));
    await started();
    const { items } = await server.client.list(kind, { sort: 'metadata.name,asc' });
    expect(items.map(({ metadata, status }) => [metadata.name, status?.phase, status?.reason])).to.deep.equal([
      ['at-all', 'Failed', 'Refused'],
      ['good', 'Started', undefined],
      ['old', 'Failed', 'Refused'],
    ]);
    expect(items[0]?.status?.message).to.equal('/nowhere/at-all: there is no such folder');
    expect(items[2]?.spec).to.include({ version: '1.0.0', requires: '^9.0.0' });
  });

  for (const [failure, dependencies, plugin] of [
    ['LoadFailed', [], 'nothing' as unknown as Plugin],
    ['DependencyMissing', ['absent'], {}],
    [
      'StartFailed',
      [],
      {
        start: () => {
          throw new Error('no');
        },
      },
    ],
  ] as const) {
    it(`have the reason of a failure in status: ${failure}`, async () => {
      add('a', dependencies, plugin);
      await started();
      const { status } = await object('a');
      expect(status).to.include({ phase: 'Failed', reason: failure, message: host.statuses()[0]?.reason });
      expect(await ready('a')).to.include({ status: 'False', reason: failure, message: status?.message });
    });
  }

  describe('with spec.enabled false when the host starts', () => {
    beforeEach(async () => {
      add('a');
      await started();
      await change('a', { enabled: false });
      await host.stop();
      calls = [];
      host = newHost();
    });

    it('keep the plugin from loading, and fail the plugins that need it; the host is ready', async () => {
      let isLoaded = false;
      const source = pluginSource('a', {});
      host.add({
        ...source,
        load: async () => {
          isLoaded = true;
          return {};
        },
      });
      add('b', ['a']);
      await started();
      expect([isLoaded, calls]).to.deep.equal([false, []]);
      expect((await object('a')).status).to.include({ phase: 'Stopped', reason: 'Disabled' });
      expect(await ready('a')).to.include({ status: 'False', reason: 'Disabled', message: 'spec.enabled is false' });
      expect((await object('b')).status).to.include({
        phase: 'Failed',
        reason: 'DependencyNotStarted',
        message: 'needs plugin "a", which is disabled',
      });
      expect(host.readinessProblem()).to.equal(undefined);
    });

    it('start the plugin, and then the plugins that need it, when spec.enabled becomes true', async () => {
      add('a');
      add('b', ['a']);
      add('c', ['b']);
      await started();
      await change('a', { enabled: true });
      expect(calls).to.deep.equal(['start a', 'start b', 'start c']);
      expect((await object('c')).status).to.include({ phase: 'Started' });
    });
  });

  describe('when spec.enabled changes while the host runs, the host', () => {
    it('stops the plugin, after those that need it, when spec.enabled becomes false, and starts all again when it becomes true', async () => {
      add('a');
      add('b', ['a']);
      add('other');
      await started();
      calls = [];
      await change('a', { enabled: false });
      expect(calls).to.deep.equal(['stop b', 'stop a']);
      expect((await object('a')).status).to.include({ phase: 'Stopped', reason: 'Disabled' });
      expect((await object('b')).status).to.include({ phase: 'Failed', reason: 'DependencyNotStarted' });
      expect((await object('other')).status).to.include({ phase: 'Started' });
      expect(host.readinessProblem()).to.equal(undefined);
      calls = [];
      await change('a', { enabled: true });
      expect(calls).to.deep.equal(['start a', 'start b']);
      expect((await object('b')).status).to.include({ phase: 'Started' });
      expect(await ready('b')).to.include({ status: 'True' });
    });

    it("stops serving the plugin's kinds when spec.enabled becomes false, and serves them and their objects again when it becomes true", async () => {
      const Widget = widgetModel();
      add('a', [], { models: [Widget] });
      await started();
      await server.client.create(Widget, { metadata: { name: 'w' } });
      await change('a', { enabled: false });
      const refused: unknown = await server.client.get(Widget, 'w').catch((error: unknown) => error);
      expect(isNotFound(refused)).to.equal(true);
      await change('a', { enabled: true });
      expect((await server.client.get(Widget, 'w')).metadata.name).to.equal('w');
    });

    it('aborts the start of the plugin when spec.enabled becomes false during the start', async () => {
      add('a', [], { start: never });
      const starting = host.start();
      await eventually(async () => expect((await object('a')).status?.phase).to.equal('Starting'));
      await change('a', { enabled: false });
      await starting;
      expect((await object('a')).status).to.include({ phase: 'Stopped', reason: 'Disabled' });
    });

    it('starts a failed plugin again when spec.enabled becomes false and then true', async () => {
      let isBroken = true;
      const start = (): void => {
        if (isBroken) throw new Error('broken');
      };
      add('a', [], { start });
      await started();
      isBroken = false;
      await change('a', { enabled: false });
      expect((await object('a')).status).to.include({ phase: 'Stopped', reason: 'Disabled' });
      await change('a', { enabled: true });
      expect((await object('a')).status)
        .to.include({ phase: 'Started' })
        .and.not.have.property('reason');
    });

    it('brings the plugin to the last requested state after many quick changes', async () => {
      add('a');
      add('b', ['a']);
      await started();
      for (let round = 0; round < 20; round += 1) {
        const spec = { enabled: round % 2 === 1 };
        await server.client.patch(kind, round % 3 === 0 ? 'b' : 'a', { type: 'merge', patch: { spec } });
      }
      for (const name of ['a', 'b'])
        await server.client.patch(kind, name, { type: 'merge', patch: { spec: { enabled: true } } });
      await eventually(() => host.isIdle() && host.statuses().every(({ phase }) => phase === 'Started'), {
        describe: () => JSON.stringify(host.statuses()),
      });
      for (const name of ['a', 'b']) expect((await object(name)).status).to.include({ phase: 'Started' });
    });
  });

  it('are written once for each phase of the plugin, in order', async () => {
    add('a');
    await started();
    const before = await object('a');
    await change('a', { enabled: false });
    expect(await phasesUntil('MODIFIED Stopped', 'a', before)).to.deep.equal([
      // The first change is the user's write of spec.enabled.
      'MODIFIED Started',
      'MODIFIED Stopping',
      'MODIFIED Stopped',
    ]);
    const stopped = await object('a');
    await change('a', { enabled: true });
    expect(await phasesUntil('MODIFIED Started', 'a', stopped)).to.deep.equal(
      ['Stopped', 'Created', 'Resolved', 'Starting', 'Started'].map((phase) => `MODIFIED ${phase}`),
    );
  });

  it('are restored by the host when a client changes spec.version, spec.displayName or status, but keep new labels', async () => {
    add('a');
    await started();
    const patch = { metadata: { labels: { mine: 'yes' } }, spec: { version: '9.9.9', displayName: 'Mine' } };
    await server.client.patch(kind, 'a', { type: 'merge', patch });
    await idle();
    const restored = await object('a');
    expect(restored.spec).to.include({ version: '0.0.0' }).and.not.have.property('displayName');
    expect(restored.metadata.labels).to.deep.equal({ mine: 'yes' });
    await server.client.updateStatus(restored, { phase: 'Failed' });
    await idle();
    expect((await object('a')).status?.phase).to.equal('Started');
    expect(await ready('a')).to.include({ observedGeneration: (await object('a')).metadata.generation });
  });

  it('are created again with the same spec when they are deleted', async () => {
    add('a');
    add('b');
    await started();
    await change('a', { reload: 'once' });
    await change('b', { enabled: false });
    calls = [];
    for (const name of ['a', 'b']) await server.client.delete(kind, name);
    await idle();
    expect((await object('a')).status).to.include({ phase: 'Started' });
    expect((await object('a')).spec.reload).to.equal('once');
    expect((await object('b')).spec.enabled).to.equal(false);
    expect((await object('b')).status).to.include({ phase: 'Stopped', reason: 'Disabled' });
    expect(calls).to.deep.equal([]);
  });

  it('without a spec leave their plugin enabled, and do not affect other plugins', async () => {
    add('a');
    add('b');
    await started();
    await change('b', { enabled: false });
    // The object has only metadata. A user may send it, even though the client's type forbids it.
    const bare = { metadata: { name: 'bare' } } as unknown as PluginObject;
    await server.client.create(kind, bare);
    await server.client.patch(kind, 'a', { type: 'merge', patch: { spec: null } });
    await idle();
    expect((await object('bare')).status).to.include({ reason: 'NotInstalled' });
    expect((await object('a')).spec).to.include({ enabled: true, version: '0.0.0' });
    await host.stop();
    host = newHost();
    add('b');
    await started();
    expect((await object('b')).status).to.include({ phase: 'Stopped', reason: 'Disabled' });
  });

  it('stay after their plugin is removed, with the reason NotInstalled, until a client deletes them', async () => {
    add('a');
    await started();
    await host.stop();
    host = newHost();
    await started();
    expect((await object('a')).status).to.include({
      phase: 'Stopped',
      reason: 'NotInstalled',
      observedVersion: '0.0.0',
    });
    expect(await ready('a')).to.include({ status: 'False', reason: 'NotInstalled' });
    await server.client.delete(kind, 'a');
    await idle();
    expect((await server.client.list(kind)).items).to.deep.equal([]);
  });

  describe('that the host cannot write', () => {
    /** Returns a client whose writes fail until `repair` is called. */
    function failingClient(): { readonly client: Client; repair(): void } {
      let isBroken = true;
      const client = new Proxy(server.client, {
        get: (target, key) => {
          const value: unknown = Reflect.get(target, key, target);
          if (typeof value !== 'function') return value;
          if (isBroken && ['create', 'update', 'updateStatus'].includes(String(key))) return rejecting;
          return value.bind(target) as unknown;
        },
      });
      return { client, repair: () => (isBroken = false) };
    }

    it('do not delay the start of the plugin, and are written once writes succeed again', async () => {
      const { client, repair } = failingClient();
      host = newHost(client);
      add('a');
      await host.start();
      expect(host.statuses()).to.deep.equal([{ name: 'a', version: '0.0.0', phase: 'Started' }]);
      await eventually(() => expect(warnings).to.include('the Plugin object could not be written'));
      repair();
      await eventually(async () => {
        await clock.advance(1_000);
        return host.isIdle();
      });
      expect((await object('a')).status).to.include({ phase: 'Started' });
    });

    it('do not delay the stop of the host', async () => {
      host = newHost(failingClient().client);
      add('a');
      await host.start();
      await host.stop();
      expect(calls).to.deep.equal(['start a', 'stop a']);
    });
  });

  it('do not delay the start of the plugin when the kind Plugin cannot be served', async () => {
    const squatter = { ...kind, kind: 'Squatter', schemaName: 'Plugin' };
    server.schemeManager.register(squatter);
    add('a');
    await host.start();
    expect(host.statuses()).to.deep.equal([{ name: 'a', version: '0.0.0', phase: 'Started' }]);
    await idle();
    server.schemeManager.unregister(squatter, serviceOwner);
  });
});
