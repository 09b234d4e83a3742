import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { admit, BasePlugin, definePlugin, invalid, reasonOf } from './index.ts';
import type { AdmissionHooks, CreateAdmission, PluginContext } from './index.ts';
import { PluginFleet } from './lifecycle/plugin-fleet.ts';
import { sourceNeeding } from './package/plugin-source.fixture.ts';
import type { Plugin } from './sdk/plugin.ts';
import { widgetModel } from './widget.fixture.ts';
import { SettingsObjects } from './settings/settings-objects.ts';
import type { Widget } from './widget.fixture.ts';

const widget = widgetModel();

describe('the admission hooks of a plugin', () => {
  let server: ApiServer;
  let fleet: PluginFleet;

  beforeEach(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
    const base = { server, clock: new FakeClock(), logger: silentLogger };
    const parts = { ...base, settings: new SettingsObjects({ ...base, onChange: () => undefined }) };
    fleet = new PluginFleet({ parts, check: () => undefined, onChange: () => undefined });
  });

  afterEach(async () => {
    await fleet.stop();
    await server.stop();
  });

  function add(name: string, plugin: Plugin, dependencies: readonly string[] = []): void {
    fleet.add(sourceNeeding(name, plugin, dependencies));
  }

  const reasonFor = (name: string): string => {
    const state = fleet.get(name)?.state;
    return state?.phase === 'Failed' ? state.reason : `it is ${state?.phase}`;
  };

  /** Returns hooks that append the mark to the code of each new widget. */
  const marks = (mark: string): AdmissionHooks<Widget> => ({
    onCreate({ object }) {
      object.spec = { ...object.spec, code: `${object.spec?.code ?? ''}${mark}` };
    },
  });

  const createdCode = async (name: string): Promise<string | undefined> =>
    (await server.client.create(widget, { metadata: { name } })).spec?.code;

  it("are called even for a write immediately after the registration of the plugin's kind", async () => {
    let first: Promise<Widget> | undefined;
    const end = server.schemeManager.on('registered', () => {
      first ??= server.client.create(widget, { metadata: { name: 'a' } });
    });
    add('base', { models: [widget], admission: [admit(widget, marks('base'))] });
    await fleet.start([]);
    end();
    expect((await first)?.spec?.code).to.equal('base');
  });

  it('can be added by the start method of a plugin class', async () => {
    class Marked extends BasePlugin {
      override async start(): Promise<void> {
        this.schemeManager.register(widget);
        this.admission.add(admit(widget, marks('class')));
      }
    }
    add('base', Marked);
    await fleet.start([]);
    expect(await createdCode('a')).to.equal('class');
  });

  it('may be methods of an instance of a class', async () => {
    class Counter implements AdmissionHooks<Widget> {
      #count = 0;

      onCreate({ object }: CreateAdmission<Widget>): void {
        this.#count += 1;
        object.spec = { code: String(this.#count) };
      }
    }
    add('base', { models: [widget], admission: [admit(widget, new Counter())] });
    await fleet.start([]);
    expect([await createdCode('a'), await createdCode('b')]).to.deep.equal(['1', '2']);
  });

  it('run in the order of dependencies, then of plugin names, then in the order in which they were added', async () => {
    add('a-last', definePlugin({ admission: [admit(widget, marks('5'))] }), ['z-base', 'b-middle']);
    add('c-middle', definePlugin({ admission: [admit(widget, marks('4'))] }), ['z-base']);
    add('b-middle', definePlugin({ admission: [admit(widget, marks('3'))] }), ['z-base']);
    const own = [admit(widget, marks('1')), admit(widget, marks('2'))];
    add('z-base', definePlugin({ models: [widget], admission: own }));
    await fleet.start([]);
    expect(await createdCode('a')).to.equal('12345');
  });

  it('fail the plugin when their kind is not registered, or belongs to a plugin that is not a dependency', async () => {
    add('base', { models: [widget] });
    add('stranger', {
      start: async ({ admission }) => {
        await server.whenReady(widget);
        admission.add(admit(widget, marks('stranger')));
      },
    });
    add('early', { admission: [admit(widgetModel({ kind: 'Unknown' }), marks(''))] });
    await fleet.start([]);
    expect(reasonFor('stranger')).to.equal(
      'the plugin "stranger" cannot have hooks for widgets.example.com/v1 Widget: the kind belongs to "base", which is not a dependency of the plugin',
    );
    expect(reasonFor('early')).to.contain('widgets.example.com/v1 Unknown: the kind is not registered');
    expect(await createdCode('a')).to.equal(undefined);
  });

  it('are removed when the plugin stops: pending calls fail, and the hooks of other plugins stay', async () => {
    let isAsked = false;
    const hang: AdmissionHooks<Widget> = {
      ...marks('more'),
      onDelete: async () => {
        isAsked = true;
        return new Promise<never>(() => undefined);
      },
    };
    add('base', { models: [widget], admission: [admit(widget, marks('base'))] });
    add('more', { admission: [admit(widget, hang)] }, ['base']);
    await fleet.start([]);
    expect(await createdCode('a')).to.equal('basemore');
    const deletion = server.client.delete(widget, 'a').catch(reasonOf);
    await eventually(() => isAsked);
    await fleet.setWishes('more', { enabled: false });
    expect(await deletion).to.equal('ServiceUnavailable');
    expect(await createdCode('b')).to.equal('base');
    await server.client.delete(widget, 'a');
  });

  it('are called again after the plugin has started again', async () => {
    add('base', { models: [widget], admission: [admit(widget, marks('base'))] });
    await fleet.start([]);
    await fleet.setWishes('base', { enabled: false });
    await fleet.setWishes('base', { enabled: true });
    await eventually(() => fleet.get('base')?.state.phase === 'Started');
    expect(await createdCode('a')).to.equal('base');
  });

  it("are called as long as the plugin's kinds are served, even while the plugin stops", async () => {
    let refused: unknown;
    add('base', {
      models: [widget],
      admission: [
        admit(widget, {
          onCreate() {
            throw invalid({ field: 'spec', message: 'no more' });
          },
        }),
      ],
      stop: async () => {
        refused = await server.client.create(widget, { metadata: { name: 'late' } }).catch(reasonOf);
      },
    });
    await fleet.start([]);
    await fleet.setWishes('base', { enabled: false });
    expect(refused).to.equal('Invalid');
  });

  it('cannot be added after the plugin has stopped', async () => {
    let context: PluginContext | undefined;
    add('base', { models: [widget], start: (given) => void (context = given) });
    await fleet.start([]);
    await fleet.setWishes('base', { enabled: false });
    expect(() => context?.admission.add(admit(widget, {}))).to.throw('the plugin is being stopped');
  });

  it('are removed when the plugin fails to start', async () => {
    add('base', { models: [widget] });
    const start = (): never => {
      throw new Error('no');
    };
    add('more', { admission: [admit(widget, marks('more'))], start }, ['base']);
    await fleet.start([]);
    expect(reasonFor('more')).to.equal('no');
    expect(await createdCode('a')).to.equal(undefined);
  });

  it('receive a client that writes as the plugin', async () => {
    add('base', {
      models: [widget],
      admission: [
        admit(widget, {
          async onCreate({ object, client }) {
            if (object.metadata.name !== 'a') return;
            const { metadata } = await client.create(widget, { metadata: { name: 'b' }, spec: { size: 1 } });
            object.spec = { code: metadata.managedFields?.[0]?.manager ?? 'nobody' };
          },
        }),
      ],
    });
    await fleet.start([]);
    expect(await createdCode('a')).to.equal('plugin:base');
  });
});

describe('admit', () => {
  it('the server accepts only hooks that admit has returned, and only with a timeoutMs from 1 to 30000', async () => {
    const server = await startApiServer({ database: 'memory:', port: 0 });
    try {
      server.schemeManager.forOwner('base').register(widget);
      const owned = server.admissions.forOwner('base', { client: server.client });
      for (const timeoutMs of [0, 30_001, Number.NaN])
        expect(() => owned.add(admit(widget, {}, { timeoutMs }))).to.throw('must be from 1 to 30000');
      for (const stranger of [undefined, {}, { model: widget }])
        expect(() => owned.add(stranger as never)).to.throw(TypeError, 'the result of admit(model, hooks)');
    } finally {
      await server.stop();
    }
  });

  it('throws an error that names each unknown hook and each hook that is not a function', () => {
    expect(() => admit(widget, { onRead: () => undefined, onCreate: 7 } as never)).to.throw(
      TypeError,
      'hooks of Widget: "onRead" is unknown; the hooks are onCreate, onUpdate, onDelete; "onCreate" must be a function',
    );
  });
});
