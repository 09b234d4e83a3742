import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HeldScans } from '../lifecycle/held-scans.fixture.ts';
import { controller, defineModel, IndexSpec, simpleAttribute } from '../index.ts';
import type { IndexAttribute, ModelDescriptor } from '../index.ts';
import { PluginHost } from './plugin-host.ts';
import type { PluginObject } from '../objects/plugin-kind.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { pluginSource } from '../package/plugin-source.ts';
import { widgetModel } from '../widget.fixture.ts';
import type { Widget } from '../widget.fixture.ts';

/** The number of objects: more than the store's scan returns in one page. */
const manyObjects = 1_200;
const pageRows = 1_000;

const group = '/apis/widgets.example.com/v1';
const Plugin = pluginKind('homeostat.internal');

/** Returns the Widget model with the index `code`. */
function indexed(options: { readonly unique?: boolean; readonly indexFunc?: IndexAttribute<Widget> }): ModelDescriptor {
  const { unique = false, indexFunc = simpleAttribute(widgetModel(), ({ spec }) => spec?.code) } = options;
  const { schemaName, components } = widgetModel();
  return defineModel({
    gvk: 'widgets.example.com/v1/Widget',
    plural: 'widgets',
    schema: { ...components[schemaName], properties: { spec: components['WidgetSpec'] as object } },
    indexes: [new IndexSpec({ name: 'code', unique, indexFunc })],
  });
}

describe('the start of a plugin', () => {
  let folder: string;
  let scans: HeldScans;
  let server: ApiServer;
  let host: PluginHost;
  let clock: FakeClock;
  let ownKinds: ReturnType<ApiServer['schemeManager']['list']>;
  let lines: Readonly<Record<string, unknown>>[];

  function newHost(): PluginHost {
    const log = (fields: object, message: string): void => void lines.push({ ...fields, message });
    const logger = { debug: () => undefined, info: log, warn: log, error: log };
    return new PluginHost({ server, clock, logger });
  }

  beforeEach(async () => {
    lines = [];
    scans = new HeldScans();
    clock = new FakeClock();
    // The database is a file, because only then does SQLite run in a worker thread, whose responses the test can delay.
    folder = await mkdtemp(join(tmpdir(), 'homeostat-start-'));
    server = await startApiServer({ database: `sqlite:${join(folder, 'objects.db')}`, port: 0 });
    ownKinds = server.schemeManager.list();
    host = newHost();
  });

  afterEach(async () => {
    scans.dispose();
    await host.stop();
    await server.stop();
    await rm(folder, { recursive: true });
    expect(clock.pendingTimers, 'timers left behind').to.equal(0);
    expect(server.schemeManager.list(), 'kinds left behind').to.deep.equal(ownKinds);
  });

  /** Stores widgets, and unregisters their kind. */
  async function storeWidgets(widgets: readonly { readonly name: string; readonly code?: string }[]): Promise<void> {
    const Widget = widgetModel();
    server.schemeManager.register(Widget, undefined, { owner: 'before' });
    await server.whenReady(Widget);
    const creations = widgets.map(({ name, code }) =>
      server.client.create(Widget, { metadata: { name }, spec: code === undefined ? {} : { code } }),
    );
    await Promise.all(creations);
    server.schemeManager.unregister(Widget, 'before');
  }

  const call = async (method: string, path: string, body?: object): Promise<Response> =>
    fetch(server.url + path, {
      method,
      headers: { 'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  const widget = (name: string): object => ({
    apiVersion: 'widgets.example.com/v1',
    kind: 'Widget',
    metadata: { name },
  });

  const object = async (name: string): Promise<PluginObject> => server.client.get(Plugin, name);
  const conditionOf = async (name: string, type: string): Promise<unknown> =>
    (await object(name)).status?.conditions?.find((each) => each.type === type);

  describe('while its indexes are built', () => {
    let started: Promise<void>;

    beforeEach(async () => {
      const names = Array.from({ length: manyObjects }, (_, number) => ({ name: `w-${number}` }));
      await storeWidgets(names);
      // The first page of the scan arrives; the second is held back.
      scans.holdAfter(1);
      host.add(pluginSource('slow', { models: [widgetModel()] }));
      host.add(pluginSource('quick', { models: [widgetModel({ kind: 'Good' })] }));
      started = host.start();
      await eventually(() => scans.waiting === 1);
    });

    const verbs: readonly (readonly [what: string, method: string, path: string, body?: object])[] = [
      ['list', 'GET', '/widgets'],
      ['watch', 'GET', '/widgets?watch=true'],
      ['the old watch', 'GET', '/watch/widgets'],
      ['get', 'GET', '/widgets/w-1'],
      ['create', 'POST', '/widgets', widget('new')],
      ['update', 'PUT', '/widgets/w-1', widget('w-1')],
      ['patch', 'PATCH', '/widgets/w-1', { spec: { size: 1 } }],
      ['status', 'PUT', '/widgets/w-1/status', widget('w-1')],
      ['delete', 'DELETE', '/widgets/w-1'],
      ['delete of the collection', 'DELETE', '/widgets'],
    ];

    it('requests for the kind of the plugin get 503 with Retry-After, for every verb', async () => {
      for (const [what, method, path, body] of verbs) {
        const answer = await call(method, group + path, body);
        expect(answer.status, what).to.equal(503);
        expect(answer.headers.get('Retry-After'), what).to.equal('1');
        expect(await answer.json(), what).to.include({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
      }
      scans.release();
      await started;
      const { total } = (await (await call('GET', `${group}/widgets`)).json()) as { readonly total: number };
      expect(total, 'none of them did anything').to.equal(manyObjects);
    });

    it('the plugin is not Started, and other plugins and kinds do not wait for it [spec 3-not-started] [slow]', async () => {
      await eventually(() => host.statuses().some(({ name, phase }) => name === 'quick' && phase === 'Started'));
      const created = await call('POST', `${group}/goods`, { ...widget('g'), kind: 'Good' });
      expect(created.status).to.equal(201);
      expect(host.statuses()).to.deep.include({ name: 'slow', version: '0.0.0', phase: 'Starting' });
      expect(host.readinessProblem()).to.equal('slow is Starting');
      scans.release();
      await started;
      expect(host.readinessProblem()).to.equal(undefined);
      expect((await call('GET', `${group}/widgets/w-1`)).status).to.equal(200);
    });

    it('the progress is in the log and in the status of the object of the plugin [slow]', async () => {
      const progress = { apiVersion: 'widgets.example.com/v1', kind: 'Widget', indexed: pageRows };
      await eventually(() => server.indexingProgress(widgetModel()) === pageRows);
      await clock.advance(5_000);
      expect(lines).to.deep.include({ plugin: 'slow', ...progress, message: 'indexing' });
      await eventually(async () => expect((await object('slow')).status?.indexing).to.deep.equal([progress]));
      expect((await object('slow')).status?.phase).to.equal('Starting');
      expect(await conditionOf('slow', 'IndexesBuilt')).to.include({
        status: 'False',
        reason: 'Building',
        message: `Widget: ${pageRows} objects indexed so far`,
      });
      scans.release();
      await started;
      await eventually(() => host.isIdle());
      expect((await object('slow')).status)
        .to.include({ phase: 'Started' })
        .and.not.have.property('indexing');
      expect(await conditionOf('slow', 'IndexesBuilt')).to.include({ status: 'True', reason: 'Built' });
    });

    it('the host can be stopped, and the plugin is then Stopped [slow]', async () => {
      const stopped = host.stop();
      await eventually(() => host.statuses().every(({ phase }) => phase === 'Stopped'));
      scans.release();
      await stopped;
      await started;
    });
  });

  describe('fails without an effect on other plugins, for', () => {
    const failures = [
      [
        'a duplicate under a unique index',
        { unique: true },
        'index code of Widget is unique, but "one" and "two" both have "same"',
      ],
      [
        'an index function that throws',
        {
          indexFunc: simpleAttribute(widgetModel(), ({ spec }) => {
            if (spec?.code === 'same') throw new Error('no index for this');
            return spec?.code;
          }),
        },
        'index code of Widget: cannot index "one": index function failed: no index for this',
      ],
      [
        'an index function that returns a number',
        { indexFunc: simpleAttribute(widgetModel(), () => 7 as unknown as string) },
        'index code of Widget: cannot index "one": index function failed: index function of Widget returned the number 7',
      ],
    ] as const;

    for (const [what, options, reason] of failures) {
      const tier = what === 'a duplicate under a unique index' ? '' : ' [slow]';
      it(`${what}: the plugin's kinds are not served, stored objects stay, and the plugin starts once the cause is repaired${tier}`, async () => {
        await storeWidgets([
          { name: 'one', code: 'same' },
          { name: 'two', code: 'same' },
        ]);
        const runs: string[] = [];
        const bad = {
          models: [widgetModel({ kind: 'Part' }), indexed(options)],
          controllers: [controller(widgetModel(), { reconcile: ({ name }) => void runs.push(name) })],
        };
        host.add(pluginSource('good', { models: [widgetModel({ kind: 'Good' })] }));
        host.add(pluginSource('bad', bad));
        await host.start();
        await eventually(() => host.isIdle());
        const [good, failed] = host.statuses();
        expect(good?.phase).to.equal('Started');
        expect(failed?.reason).to.include(reason);
        const { status } = await object('bad');
        expect(status).to.include({ phase: 'Failed', reason: 'IndexBuildFailed', message: failed?.reason });
        expect(await conditionOf('bad', 'IndexesBuilt')).to.include({ status: 'False', reason: 'IndexBuildFailed' });
        for (const plural of ['parts', 'widgets'])
          expect((await call('GET', `${group}/${plural}`)).status).to.equal(404);
        expect(runs).to.deep.equal([]);

        await host.stop();
        await repairWidgets();
        host = newHost();
        host.add(pluginSource('bad', { ...bad, models: [indexed('indexFunc' in options ? {} : options)] }));
        await host.start();
        await eventually(() => host.isIdle());
        expect(host.statuses()).to.deep.equal([{ name: 'bad', version: '0.0.0', phase: 'Started' }]);
        expect(runs.toSorted()).to.deep.equal(['one', 'two']);
        const found = await call('GET', `${group}/widgets?fieldSelector=code=other`);
        expect(((await found.json()) as { readonly total: number }).total).to.equal(1);
      });
    }

    /**
     * Gives one of two widgets with equal codes another code, so that a unique index of the codes can be built. For
     * this change, the server serves the kind without the index, as in an earlier version of the plugin.
     */
    async function repairWidgets(): Promise<void> {
      const Widget = widgetModel();
      server.schemeManager.register(Widget, undefined, { owner: 'before' });
      const { items } = await server.client.list(Widget, { sort: 'metadata.name,asc' });
      expect(items.map(({ spec }) => spec?.code)).to.deep.equal(['same', 'same']);
      await server.client.patch(Widget, 'two', { type: 'merge', patch: { spec: { code: 'other' } } });
      server.schemeManager.unregister(Widget, 'before');
    }

    it('a duplicate in a unique index of one of its kinds; the server ends watches of the plugin’s other kind with 410', async () => {
      await storeWidgets([
        { name: 'one', code: 'same' },
        { name: 'two', code: 'same' },
      ]);
      scans.holdAfter(0);
      host.add(pluginSource('bad', { models: [widgetModel({ kind: 'Part' }), indexed({ unique: true })] }));
      const started = host.start();
      await eventually(async () => (await call('GET', `${group}/parts`)).status === 200);
      const watch = await call('GET', `${group}/parts?watch=true`);
      scans.release();
      await started;
      const events = (await watch.text()).trim().split('\n');
      expect(JSON.parse(events.at(-1) ?? '')).to.have.nested.property('object.code', 410);
      expect((await call('GET', `${group}/parts`)).status).to.equal(404);
    });
  });
});
