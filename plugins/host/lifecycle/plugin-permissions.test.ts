import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { defineModel } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { controller, definePlugin } from '../index.ts';
import type { Plugin, PluginContext, ReconcileContext } from '../index.ts';
import { PluginHost } from '../host/plugin-host.ts';
import type { PermissionRule } from '../manifest/permission-rules.ts';
import { pluginSource } from '../package/plugin-source.ts';
import { widgetModel } from '../widget.fixture.ts';

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
const namespace = defineModel({ gvk: 'v1/Namespace', plural: 'namespaces', schema: anything });
const lease = defineModel({
  gvk: 'coordination.k8s.io/v1/Lease',
  plural: 'leases',
  scope: 'Namespaced',
  schema: anything,
});
const event = defineModel({ gvk: 'v1/Event', plural: 'events', scope: 'Namespaced', schema: anything });
const effect = defineModel({
  gvk: 'controllers.homeostat.internal/v1alpha1/ExternalEffect',
  plural: 'externaleffects',
  scope: 'Namespaced',
  schema: anything,
});
const rbac = 'rbac.authorization.k8s.io/v1';
const clusterRole = defineModel({ gvk: `${rbac}/ClusterRole`, plural: 'clusterroles', schema: anything });
const clusterRoleBinding = defineModel({
  gvk: `${rbac}/ClusterRoleBinding`,
  plural: 'clusterrolebindings',
  schema: anything,
});
const place = { namespace: 'default' };

describe("the permissions of a plugin's client", () => {
  let server: ApiServer;
  let host: PluginHost;
  const Widget = widgetModel();
  const Part = defineModel({ gvk: 'parts.example.com/v1/Part', plural: 'parts', schema: anything });

  beforeEach(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
    host = new PluginHost({ server });
    host.add(pluginSource('parts', definePlugin({ models: [Part] })));
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
  });

  /** Starts the plugin `shop` with a manifest, and returns its client. */
  async function clientOf(
    plugin: Plugin,
    manifest: { readonly group?: string; readonly permissions?: readonly PermissionRule[] },
  ): Promise<PluginContext['client']> {
    const made: { client?: PluginContext['client'] } = {};
    const start = ({ client }: PluginContext): void => void (made.client = client);
    const source = pluginSource('shop', { ...plugin, start });
    const { permissions: _all, ...known } = source.manifest;
    host.add({ ...source, manifest: { ...known, ...manifest } });
    await host.start();
    expect(host.statuses().filter(({ phase }) => phase !== 'Started')).to.deep.equal([]);
    const { client } = made;
    if (client === undefined) throw new Error('the plugin was not started');
    return client;
  }

  /** Returns the message of the error with which a call rejects; undefined when the call succeeds. */
  const refusal = async (call: () => unknown): Promise<string | undefined> => {
    try {
      await call();
      return undefined;
    } catch (error) {
      expect(error).to.include({ reason: 'Forbidden' });
      return (error as Error).message;
    }
  };

  it('allow everything in its own groups, reading namespaces, and writing events and its leases', async () => {
    const client = await clientOf(definePlugin({ models: [Widget] }), { group: 'widgets.example.com' });
    const made = await client.create(Widget, { metadata: { name: 'one' }, spec: { size: 1 } });
    await client.updateStatus(made, { seen: 'yes' });
    expect((await client.list(Widget)).items).to.have.length(1);
    await client.apply(Widget, { metadata: { name: 'two' } }, { fieldManager: 'shop' });
    await client.delete(Widget, 'one');
    expect((await client.list(namespace)).items).to.have.length(1);
    await client.create(lease, { metadata: { name: 'shop.plugin', ...place } });
    const involvedObject = { kind: 'Widget', name: 'one', ...place };
    await client.create(event, { metadata: { name: 'e', ...place }, involvedObject });
    expect(await refusal(() => client.create(namespace, { metadata: { name: 'x' } }))).to.include('cannot create');
    expect(await refusal(() => client.get(lease, 'other', place))).to.include('leases.coordination.k8s.io "other"');
    expect(await refusal(() => client.create(lease, { metadata: { name: 'other', ...place } }))).to.include(
      'cannot create',
    );
  });

  it('allow no request to a kind of another plugin; the error has the lines to add to the manifest', async () => {
    const client = await clientOf(definePlugin({ models: [Widget] }), { group: 'widgets.example.com' });
    const cure =
      'add "permissions:" to plugin.yaml, with: - {apiGroups: [parts.example.com], resources: [parts], verbs: [list]}. ' +
      "The list replaces the default permissions. To keep full access to the own groups of the plugin, also add: - {apiGroups: [widgets.example.com], resources: ['*'], verbs: ['*']}";
    expect(await refusal(() => client.list(Part))).to.equal(
      'parts.parts.example.com is forbidden: User "system:plugin:shop" cannot list resource "parts" ' +
        `in API group "parts.example.com" at the cluster scope (${cure})`,
    );
    const stored = await server.client.create(Part, { metadata: { name: 'p' } });
    const calls: readonly (readonly [verb: string, call: () => unknown])[] = [
      ['get', () => client.get(Part, 'p')],
      ['create', () => client.create(Part, { metadata: { name: 'q' } })],
      ['update', () => client.update(stored)],
      ['update', () => client.updateStatus(stored, {} as never)],
      ['patch', () => client.patch(Part, 'p', { type: 'merge', patch: {} })],
      ['patch', () => client.apply(Part, { metadata: { name: 'p' } }, { fieldManager: 'shop' })],
      ['delete', () => client.delete(Part, 'p')],
      ['get', () => client.ensure(Part, 'p', { metadata: { labels: { a: 'b' } } })],
      ['watch', () => client.watch(Part)[Symbol.asyncIterator]().next()],
      ['list', () => client.informer(Part)],
    ];
    for (const [verb, call] of calls) expect(await refusal(call), verb).to.include(`cannot ${verb} resource "parts`);
    expect((await server.client.list(Part)).items).to.deep.equal([stored]);
  });

  it('by default, allow reads, but no writes, of a kind of another plugin that a controller lists in "owns"', async () => {
    const reconcile = { reconcile: async (): Promise<void> => undefined };
    const controllers = [controller(Widget, { name: 'widgets', owns: [Part], reconcile })];
    const client = await clientOf(definePlugin({ models: [Widget], controllers }), {});
    expect((await client.list(Part)).items).to.deep.equal([]);
    expect(await refusal(() => client.create(Part, { metadata: { name: 'p' } }))).to.include('cannot create');
  });

  it('allow writing the records of external effects of its own controllers, but not listing them', async () => {
    const done: string[] = [];
    const reconcile = async ({ once }: ReconcileContext): Promise<void> =>
      void done.push(await once('make', () => 'made', { find: () => undefined }));
    const controllers = [controller(Widget, { name: 'widgets', reconcile })];
    for (const permissions of [undefined, [{ apiGroups: ['*'], resources: ['widgets'], verbs: ['*'] }]]) {
      const client = await clientOf(definePlugin({ models: [Widget], controllers }), {
        ...(permissions && { permissions }),
        group: 'widgets.example.com',
      });
      await client.create(Widget, { metadata: { name: 'one' }, spec: { size: 1 } });
      await eventually(() => done.length === 1);
      const { items } = await server.client.list(effect);
      const [{ metadata: record } = { metadata: { name: '' } }] = items;
      expect(record.name).to.match(/^widgets\./);
      expect((await client.get(effect, record.name, place)).metadata).to.deep.equal(record);
      expect(await refusal(() => client.list(effect))).to.include('cannot list resource "externaleffects"');
      expect(await refusal(() => client.get(effect, 'other.0', place))).to.include('cannot get');
      expect(await refusal(() => client.create(effect, { metadata: { name: 'widgetsx.0', ...place } }))).to.include(
        'cannot create',
      );
      done.length = 0;
      await host.stop();
      await server.stop();
      server = await startApiServer({ database: 'memory:', port: 0 });
      host = new PluginHost({ server });
    }
  });

  it('are the rules in its manifest, which replace the permissions for its own groups and for namespaces', async () => {
    const permissions = [
      { apiGroups: ['parts.example.com'], resources: ['parts'], resourceNames: ['p'], verbs: ['get', 'patch', 'list'] },
      { apiGroups: ['widgets.example.com'], resources: ['*/status', 'widgets'], verbs: ['update', 'get'] },
    ];
    const client = await clientOf(definePlugin({ models: [Widget] }), { group: 'widgets.example.com', permissions });
    await server.client.create(Part, { metadata: { name: 'p' } });
    await client.get(Part, 'p');
    await client.list(Part, { fieldSelector: 'metadata.name=p' });
    expect(await refusal(() => client.list(Part))).to.include('cannot list');
    expect(await refusal(() => client.get(Part, 'other'))).to.include(
      'add to "permissions:" in plugin.yaml: - {apiGroups: [parts.example.com], resources: [parts], verbs: [get]}',
    );
    const widget = await server.client.create(Widget, { metadata: { name: 'w' } });
    await client.updateStatus(widget, { seen: 'yes' });
    expect(await refusal(() => client.create(Widget, { metadata: { name: 'v' } }))).to.include('cannot create');
    expect(await refusal(() => client.list(namespace))).to.include('resources: [namespaces]');
  });

  it('allow an apply with only the verb patch to change an object, but not to create one', async () => {
    const rule = { apiGroups: ['parts.example.com'], resources: ['parts'], verbs: ['patch'] };
    const client = await clientOf(definePlugin({}), { permissions: [rule] });
    const apply = (): Promise<unknown> => client.apply(Part, { metadata: { name: 'p' } }, { fieldManager: 'shop' });
    expect(await refusal(apply))
      .to.include('parts.parts.example.com "p" is forbidden')
      .and.to.include('cannot create');
    await server.client.create(Part, { metadata: { name: 'p' } });
    await apply();
  });

  it('stop the events of its informer when the role binding is deleted, and resume them when the binding is created again', async () => {
    const client = await clientOf(definePlugin({}), { permissions: [] });
    const apiGroup = 'rbac.authorization.k8s.io';
    const grant = {
      metadata: { name: 'shop-reads-parts' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'reader' },
      subjects: [{ kind: 'User', apiGroup, name: 'system:plugin:shop' }],
    };
    const rules = [{ apiGroups: ['parts.example.com'], resources: ['parts'], verbs: ['list', 'watch'] }];
    await server.client.create(clusterRole, { metadata: { name: 'reader' }, rules });
    await server.client.create(clusterRoleBinding, grant);
    const informer = await eventually(() => client.informer(Part));
    informer.addIndex('name', ({ metadata: { name } }) => [name]);
    const told: string[] = [];
    informer.addHandler({
      onAdd: ({ metadata }) => void told.push(`+${metadata.name}`),
      onUpdate: (_last, { metadata }) => void told.push(`~${metadata.name}`),
      onDelete: ({ metadata }) => void told.push(`-${metadata.name}`),
    });
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    const known = (): readonly string[] => informer.list().map(({ metadata }) => metadata.name);
    for (const name of ['a', 'b']) await server.client.create(Part, { metadata: { name } });
    await eventually(() => expect(told).to.deep.equal(['+a', '+b']));

    await server.client.delete(clusterRoleBinding, 'shop-reads-parts');
    await eventually(() => expect(() => client.informer(Part)).to.throw('cannot list'));
    await server.client.create(Part, { metadata: { name: 'c' } });
    await server.client.delete(Part, 'a');
    // This informer of the server's client needs no permission, so it shows that the events have been sent.
    const other = server.client.informer(Part);
    const otherRuns = other.run(stop.signal);
    await eventually(() => expect(other.list().map(({ metadata }) => metadata.name)).to.deep.equal(['b', 'c']));
    expect(told).to.deep.equal(['+a', '+b']);
    expect(known()).to.deep.equal(['a', 'b']);
    expect([informer.get({ name: 'c' }), informer.byIndex('name', 'c')]).to.deep.equal([undefined, []]);
    expect(informer.get({ name: 'a' })).to.nested.include({ 'metadata.name': 'a' });

    await server.client.create(clusterRoleBinding, grant);
    await eventually(() => expect(told).to.have.members(['+a', '+b', '+c', '-a']));
    expect(known()).to.have.members(['b', 'c']);
    expect(informer.byIndex('name', 'c')).to.have.length(1);

    await server.client.delete(clusterRoleBinding, 'shop-reads-parts');
    stop.abort();
    await Promise.all([running, otherRuns]);
  });
});
