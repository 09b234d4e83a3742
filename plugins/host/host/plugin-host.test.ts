import { serviceOwner, startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BasePlugin, controller, definePlugin } from '../index.ts';
import type { Plugin, PluginContext } from '../index.ts';
import { makeFolder, makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from './plugin-host.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { sourceNeeding } from '../package/plugin-source.fixture.ts';
import { pluginSource } from '../package/plugin-source.ts';
import { widgetModel } from '../widget.fixture.ts';

const rejecting = (message: string) => async (): Promise<never> => {
  throw new Error(message);
};
const never = async (): Promise<never> => new Promise<never>(() => undefined);

describe('the plugin host', () => {
  let server: ApiServer;
  let host: PluginHost;
  let clock: FakeClock;
  let ownKinds: ReturnType<ApiServer['schemeManager']['list']>;
  let lines: { readonly level: string; readonly plugin?: unknown; readonly message: string }[];

  const log =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      void lines.push({ level, plugin: fields['plugin'], message });

  beforeEach(async () => {
    lines = [];
    clock = new FakeClock();
    server = await startApiServer({ database: 'memory:', port: 0 });
    ownKinds = server.schemeManager.list();
    const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
    host = new PluginHost({ server, clock, logger });
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
    await removeFolders();
    expect(clock.pendingTimers, 'timers left behind').to.equal(0);
    expect(server.schemeManager.list(), 'kinds left behind').to.deep.equal(ownKinds);
  });

  /** Adds a plugin without a folder; `dependencies` are names of plugins. */
  function add(name: string, plugin: Plugin, dependencies: readonly string[] = []): void {
    host.add(sourceNeeding(name, plugin, dependencies));
  }

  const phases = (): Readonly<Record<string, string>> =>
    Object.fromEntries(host.statuses().map(({ name, phase }) => [name, phase]));
  const reasonOf = (name: string): string | undefined => host.statuses().find((each) => each.name === name)?.reason;
  const kinds = (): readonly string[] =>
    server.schemeManager.list().flatMap(({ descriptor, owner }) => (owner === serviceOwner ? [] : [descriptor.kind]));

  describe('starting', () => {
    it('registers the models in definePlugin before it calls the start function, so that start can use them', async () => {
      const Widget = widgetModel();
      const found: number[] = [];
      const start = async ({ client }: PluginContext): Promise<void> => {
        found.push((await client.list(Widget)).items.length);
      };
      add('a', definePlugin({ models: [Widget], start }));
      await host.start();
      expect(phases()).to.deep.equal({ a: 'Started' });
      expect(found).to.deep.equal([0]);
      expect(kinds()).to.deep.equal(['Widget']);
    });

    it('makes an instance of a plugin class, which can use schemeManager, logger and signal', async () => {
      const Widget = widgetModel();
      const calls: string[] = [];
      class Mine extends BasePlugin {
        override async start(): Promise<void> {
          this.schemeManager.register(Widget);
          this.logger.info({}, 'hello');
          calls.push('start', String(this.signal.aborted));
        }

        override async stop(): Promise<void> {
          calls.push('stop', String(this.signal.aborted));
        }
      }
      add('mine', Mine);
      await host.start();
      expect(await server.client.list(Widget)).to.have.property('total', 0);
      expect(lines).to.deep.include({ level: 'info', plugin: 'mine', message: 'hello' });
      await host.stop();
      expect(calls).to.deep.equal(['start', 'false', 'stop', 'true']);
      expect(phases()).to.deep.equal({ mine: 'Stopped' });
    });

    it('runs the declared controllers, and those that the start function adds', async () => {
      const Widget = widgetModel();
      const seen: string[] = [];
      const seeing = (name: string): ReturnType<typeof controller> =>
        controller(Widget, { name, reconcile: ({ object }) => void seen.push(`${name} ${object.metadata.name}`) });
      add('a', {
        models: [Widget],
        controllers: [seeing('one')],
        start: ({ controllers }) => controllers.add(seeing('two')),
      });
      await host.start();
      await server.client.create(Widget, { metadata: { name: 'w' } });
      await eventually(() => seen.length === 2 && host.isIdle());
      expect(seen.toSorted()).to.deep.equal(['one w', 'two w']);
    });

    it('starts dependencies first and stops them last, in whatever order the plugins were added', async () => {
      const order: string[] = [];
      const noting = (name: string): Plugin => ({
        start: () => void order.push(`start ${name}`),
        stop: () => void order.push(`stop ${name}`),
      });
      add('c', noting('c'), ['b']);
      add('b', noting('b'), ['a']);
      add('a', noting('a'));
      await host.start();
      await host.stop();
      expect(order).to.deep.equal(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
    });

    it('is ready once each plugin is Started or Failed', async () => {
      let release = (): void => undefined;
      const gate = new Promise<void>((resolve) => (release = resolve));
      add('slow', { start: async () => gate });
      add('broken', { start: rejecting('no') });
      expect(host.readinessProblem()).to.equal('plugins have not been loaded yet');
      const started = host.start();
      await eventually(() => phases()['broken'] === 'Failed');
      expect(host.readinessProblem()).to.equal('slow is Starting');
      expect(host.isIdle()).to.equal(false);
      release();
      await started;
      expect(host.readinessProblem()).to.equal(undefined);
      await eventually(() => host.isIdle());
    });
  });

  describe('failing', () => {
    const Good = widgetModel({ kind: 'Good' });
    const good = definePlugin({ models: [Good] });

    /** Expects that the good plugin works, and that the bad plugin has no registered kinds. */
    async function expectContained(reason: string): Promise<void> {
      expect(phases()).to.deep.equal({ bad: 'Failed', good: 'Started' });
      expect(reasonOf('bad')).to.include(reason);
      expect(kinds()).to.deep.equal(['Good']);
      expect((await fetch(`${server.url}/apis/widgets.example.com/v1/goods`)).status).to.equal(200);
      expect(lines).to.deep.include({ level: 'error', plugin: 'bad', message: 'plugin failed' });
    }

    for (const [what, main, reason] of [
      ['a module that throws', "throw new Error('top level');", 'top level'],
      ['a module that is not valid JavaScript', 'export default {', 'Unexpected'],
      ['a module without a default export', 'export const a = 1;', 'has no default export'],
      [
        'a getter of a module that throws',
        "export default { get models() { throw new Error('in a getter'); } };",
        'in a getter',
      ],
      ['a module that exports no plugin', 'export default { begin() {} };', '"begin" is unknown'],
    ] as const) {
      it(`fails only the plugin with ${what}`, async () => {
        await host.addFolder(await makePlugin('bad', main));
        add('good', good);
        await host.start();
        await expectContained(reason);
      });
    }

    it('fails only the plugin when its module is not loaded within 30 s', async () => {
      await host.addFolder(await makePlugin('bad', 'setInterval(() => {}, 1e6).unref(); await new Promise(() => {});'));
      add('good', good);
      const started = host.start();
      await eventually(() => phases()['good'] === 'Resolved');
      await clock.runUntil(() => phases()['good'] === 'Started');
      await started;
      await expectContained('loading its module has not ended within 30 s');
    });

    it('fails only the plugin when its main file does not exist', async () => {
      await host.addFolder(await makePlugin('bad', '', { 'plugin.yaml': 'name: bad\nversion: 1.0.0\nmain: x.js\n' }));
      add('good', good);
      await host.start();
      await expectContained('x.js does not exist: build the plugin first');
    });

    for (const [what, plugin, reason] of [
      [
        'a start that throws',
        {
          models: [widgetModel()],
          start: () => {
            throw new Error('in start');
          },
        },
        'in start',
      ],
      ['a start that rejects', { models: [widgetModel()], start: rejecting('later') }, 'later'],
      ['an index function that throws', { models: [widgetModel({ brokenIndex: true })] }, 'the index is broken'],
      [
        'two controllers with the same name',
        {
          models: [widgetModel()],
          controllers: [1, 2].map(() => controller(widgetModel(), { reconcile: () => undefined })),
        },
        'there is a controller "widget" already',
      ],
      [
        'a controller of a kind that no plugin registered',
        { controllers: [controller(widgetModel(), { reconcile: () => undefined })] },
        'controller "widget": widgets.example.com/v1 Widget is not registered',
      ],
      ['a kind that another plugin has registered', { models: [widgetModel({ kind: 'Good' })] }, 'belongs to'],
      [
        'a class whose constructor throws',
        class extends BasePlugin {
          constructor(context: PluginContext) {
            super(context);
            throw new Error('in the constructor');
          }
        },
        'in the constructor',
      ],
    ] as const) {
      it(`fails only the plugin with ${what}`, async () => {
        await storeWidget(server);
        add('good', good);
        add('bad', plugin);
        await host.start();
        expect(Object.keys(phases())).to.deep.equal(['good', 'bad']);
        await expectContained(reason);
      });
    }

    it('fails only the plugin when its start has not ended within 30 s, and refuses kinds that it registers later', async () => {
      const Widget = widgetModel();
      let late = async (): Promise<void> => undefined;
      const errors: unknown[] = [];
      add('bad', {
        start: async ({ schemeManager, signal }) => {
          schemeManager.register(Widget);
          late = async () => {
            expect(signal.aborted).to.equal(true);
            schemeManager.register(widgetModel({ kind: 'Late' }));
          };
          return never();
        },
      });
      add('good', good);
      const started = host.start();
      await eventually(() => phases()['good'] === 'Started');
      expect(phases()['bad']).to.equal('Starting');
      await clock.runUntil(() => phases()['bad'] === 'Failed');
      await started;
      await expectContained('start has not ended within 30 s');
      await late().catch((error: unknown) => errors.push(error));
      expect(errors).to.have.length(1);
      expect(kinds()).to.deep.equal(['Good']);
    });

    it('a plugin whose index function throws after the start becomes Failed: its signal aborts, and its stop method is called', async () => {
      const calls: string[] = [];
      add('good', good);
      add('bad', {
        start: ({ schemeManager, signal }) => {
          schemeManager.register(widgetModel({ brokenIndex: true }));
          signal.addEventListener('abort', () => calls.push('abort'));
        },
        stop: () => void calls.push('stop'),
      });
      await storeWidget(server);
      await host.start();
      await expectContained('the index is broken');
      expect(calls).to.deep.equal(['abort', 'stop']);
    });

    it('fails the dependents of a failed plugin, and no other plugins', async () => {
      add('bad', { start: rejecting('no') });
      add('dependent', { models: [widgetModel()] }, ['bad']);
      add('further', {}, ['dependent']);
      add('good', good);
      await host.start();
      expect(phases()).to.deep.equal({ bad: 'Failed', dependent: 'Failed', further: 'Failed', good: 'Started' });
      expect(reasonOf('dependent')).to.equal('needs plugin "bad", which is Failed');
      expect(reasonOf('further')).to.equal('needs plugin "dependent", which is Failed');
    });

    it('fails only the plugins of a cycle of dependencies', async () => {
      add('a', {}, ['b']);
      add('b', {}, ['a']);
      add('good', good);
      await host.start();
      expect(phases()).to.deep.equal({ a: 'Failed', b: 'Failed', good: 'Started' });
    });

    it('fails a plugin with the name of another plugin, without a folder, or with an invalid manifest', async () => {
      await host.addFolder(await makePlugin('good', 'export default {};'));
      add('good', good);
      await host.addFolder('/nowhere/at-all');
      await host.addFolder(await makePlugin('Bad Name', ''));
      await host.addFolder(
        await makePlugin('old', '', { 'plugin.yaml': 'name: old\nversion: 1.0.0\nrequires: ^9.0.0\n' }),
      );
      await host.start();
      const failures = host.statuses().filter(({ phase }) => phase === 'Failed');
      expect(failures.map(({ name }) => name).filter((name) => !name.startsWith('homeostat-'))).to.deep.equal([
        'good',
        'at-all',
        'old',
      ]);
      const reasons = failures.map(({ reason }) => reason).join('\n');
      for (const text of [
        'there is a plugin "good" already, from /',
        '/nowhere/at-all: there is no such folder',
        'name: a name must',
        'requires homeostat ^9.0.0',
      ])
        expect(reasons).to.include(text);
      expect(host.statuses()[0]).to.deep.equal({ name: 'good', version: '1.0.0', phase: 'Started' });
    });
  });

  it('reports the version of a refused plugin, even if the plugin was installed while the host ran', async () => {
    const pluginsDir = await makeFolder({});
    const running = new PluginHost({ server, clock, pluginsDir });
    try {
      await running.start();
      await mkdir(join(pluginsDir, 'late'));
      await writeFile(join(pluginsDir, 'late', 'plugin.yaml'), 'name: late\nversion: 1.2.3\nrequires: ^9.0.0\n');
      const Plugin = pluginKind(server.schemeManager.serviceDomain);
      await server.client.create(Plugin, { metadata: { name: 'late' }, spec: { enabled: true, version: '1.2.3' } });
      await eventually(() => expect(running.statuses()).to.have.length(1));
      expect(running.statuses()[0]).to.include({ name: 'late', version: '1.2.3', phase: 'Failed' });
    } finally {
      await running.stop();
    }
  });

  describe('stopping', () => {
    it('does not serve kinds or files of a plugin that is stopped immediately before it is Started', async () => {
      const Widget = widgetModel();
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => (release = resolve));
      let find = (): void => undefined;
      const found = new Promise<void>((resolve) => (find = resolve));
      const seen: string[] = [];
      const slow = controller(Widget, {
        async reconcile() {
          seen.push('reconcile');
          await released;
        },
      });
      const start = async ({ client }: PluginContext): Promise<unknown> =>
        client.create(Widget, { metadata: { name: 'w' } });
      const folder = await makeFolder({ 'page.html': 'hello' });
      const assets = async (): Promise<string> => {
        seen.push('assets');
        await found;
        return folder;
      };
      const plugin = definePlugin({ models: [Widget], controllers: [slow], start });
      host.add({ ...pluginSource('slow', plugin), assets });
      const started = host.start();
      await eventually(() => seen.length === 2);
      const stopped = host.stop();
      await eventually(() => phases()['slow'] === 'Stopping');
      find();
      await found;
      release();
      await Promise.all([started, stopped]);
      expect((await fetch(`${server.url}/plugins/slow/assets/page.html`)).status).to.equal(404);
    });

    it('waits for reconciles, then aborts the signal, then calls stop, and then unregisters the kinds', async () => {
      const Widget = widgetModel();
      const events: string[] = [];
      let release = (): void => undefined;
      const gate = new Promise<void>((resolve) => (release = resolve));
      const slow = controller(Widget, {
        async reconcile() {
          events.push('begins');
          await gate;
          events.push('ends');
        },
      });
      add('a', {
        models: [Widget],
        controllers: [slow],
        start: ({ signal }) => signal.addEventListener('abort', () => events.push('abort')),
        stop: () => void events.push(`stop, with ${kinds().join()}`),
      });
      await host.start();
      await server.client.create(Widget, { metadata: { name: 'w' } });
      await eventually(() => events.length === 1);
      const stopped = host.stop();
      await eventually(() => phases()['a'] === 'Stopping');
      release();
      await stopped;
      expect(events).to.deep.equal(['begins', 'ends', 'abort', 'stop, with Widget']);
      expect(kinds()).to.deep.equal([]);
    });

    it('continues after 30 s when a stop never ends, and releases the registrations of the plugin', async () => {
      add('a', { models: [widgetModel()], stop: never });
      await host.start();
      const stopped = host.stop();
      await clock.runUntil(() => phases()['a'] === 'Failed');
      await stopped;
      expect(phases()).to.deep.equal({ a: 'Failed' });
      expect(reasonOf('a')).to.equal('stop has not ended within 30 s');
    });

    it('aborts a start that is still running', async () => {
      let isAborted = (): boolean => false;
      let isCalled = false;
      add('a', {
        models: [widgetModel()],
        start: async ({ signal }) => {
          isCalled = true;
          isAborted = () => signal.aborted;
          return never();
        },
      });
      const started = host.start();
      await eventually(() => isCalled);
      await host.stop();
      await started;
      expect(phases()).to.deep.equal({ a: 'Stopped' });
      expect(isAborted()).to.equal(true);
    });

    it('calls the stop function of a plugin when its start function ends only after the host has stopped', async () => {
      const calls: string[] = [];
      let open = (): void => undefined;
      const gate = new Promise<void>((resolve) => (open = resolve));
      add('a', {
        start: async () => {
          calls.push('start');
          await gate;
          calls.push('started');
        },
        stop: () => void calls.push('stop'),
      });
      const started = host.start();
      await eventually(() => calls.length > 0);
      await host.stop();
      await started;
      expect(calls).to.deep.equal(['start']);
      open();
      await eventually(() => calls.length === 3);
      expect(calls).to.deep.equal(['start', 'started', 'stop']);
    });

    it('leaves all plugins Stopped when the host was never started, even plugins that depend on each other', async () => {
      add('a', {}, ['b']);
      add('b', {}, ['a']);
      await host.stop();
      expect(phases()).to.deep.equal({ a: 'Stopped', b: 'Stopped' });
    });
  });

  it('returns the plugin in whose files an error was created', async () => {
    await host.addFolder(await makePlugin('a', "export default { start() { globalThis.made = new Error('x'); } };"));
    await host.start();
    const { made } = globalThis as typeof globalThis & { made?: unknown };
    expect(host.pluginOf(made)).to.equal('a');
    expect(host.pluginOf(new Error('y'))).to.equal(undefined);
  });
});

/** Stores an object, so that an index function is called for it. */
async function storeWidget(server: ApiServer): Promise<void> {
  const Widget = widgetModel();
  server.schemeManager.register(Widget, undefined, { owner: 'before' });
  await server.client.create(Widget, { metadata: { name: 'stored' } });
  server.schemeManager.unregister(Widget, 'before');
}
