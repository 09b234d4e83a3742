import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { createClient } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { definePlugin } from '../index.ts';
import type { PluginContext } from '../index.ts';
import { PluginHost } from '../host/plugin-host.ts';
import type { PluginRole } from '../manifest/permission-rules.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { pluginSource } from '../package/plugin-source.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import { widgetModel } from '../widget.fixture.ts';

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
const clusterRole = defineModel({
  gvk: 'rbac.authorization.k8s.io/v1/ClusterRole',
  plural: 'clusterroles',
  schema: anything,
}) as unknown as ModelDescriptor<ApiObject & { readonly rules: readonly object[] }>;
const binding = defineModel({
  gvk: 'rbac.authorization.k8s.io/v1/ClusterRoleBinding',
  plural: 'clusterrolebindings',
  schema: anything,
});

/** Returns the server, as if other servers used its database. */
function sharing(server: ApiServer): ApiServer {
  return new Proxy(server, {
    get(target, key) {
      if (key === 'sharesDatabase') return true;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('the roles of a plugin', () => {
  let server: ApiServer;
  let host: PluginHost;
  const Widget = widgetModel();
  const read = { apiGroups: ['widgets.example.com'], resources: ['widgets'], verbs: ['get', 'list', 'watch'] };
  const write = { apiGroups: ['widgets.example.com'], resources: ['widgets'], verbs: ['create'] };
  const reader: PluginRole = { name: 'reader', aggregateTo: ['view'], rules: [read] };
  const writer: PluginRole = { name: 'writer', rules: [write] };

  beforeEach(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
    host = new PluginHost({ server });
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
  });

  function shop(roles: readonly PluginRole[]): PluginSource {
    const source = pluginSource('shop', definePlugin({ models: [Widget] }));
    return { ...source, manifest: { ...source.manifest, roles } };
  }

  const rolesOf = async (): Promise<readonly string[]> => {
    const { items } = await server.client.list(clusterRole);
    return items.flatMap(({ metadata: { name } }) => (name.startsWith('plugin:') ? [name] : []));
  };

  /** True when a user may list widgets over HTTP. */
  const mayList = async (user: string): Promise<boolean> => {
    const path = '/apis/widgets.example.com/v1/widgets';
    const { status } = await fetch(server.url + path, { headers: { 'Impersonate-User': user } });
    return status === 200;
  };

  it('are ClusterRoles named plugin:<plugin>:<role>, and are aggregated to the default roles that `aggregateTo` names', async () => {
    host.add(shop([reader, writer]));
    await host.start();
    expect(await rolesOf()).to.have.members(['plugin:shop:reader', 'plugin:shop:writer']);
    expect((await server.client.get(clusterRole, 'plugin:shop:reader')).rules).to.deep.equal([read]);
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
    expect(await mayList('ada')).to.equal(false);
    await server.client.create(binding, {
      metadata: { name: 'ada-views' },
      roleRef,
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }],
    });
    await eventually(async () => expect(await mayList('ada')).to.equal(true));
    expect(await mayList('eve')).to.equal(false);
  });

  it('change with the manifest, and are deleted with the Plugin object', async () => {
    host.add(shop([reader, writer]));
    await host.start();
    await host.reload(shop([{ ...reader, rules: [read, write] }]));
    expect(await rolesOf()).to.deep.equal(['plugin:shop:reader']);
    expect((await server.client.get(clusterRole, 'plugin:shop:reader')).rules).to.deep.equal([read, write]);
    await host.stop();
    expect(await rolesOf()).to.deep.equal(['plugin:shop:reader']);
    // A host that no longer has the plugin keeps the roles until the Plugin object is deleted.
    host = new PluginHost({ server });
    await host.start();
    expect(await rolesOf()).to.deep.equal(['plugin:shop:reader']);
    const { serviceDomain } = server.schemeManager;
    const [kind] = server.schemeManager.list().filter(({ descriptor }) => descriptor.kind === 'Plugin');
    expect(kind?.descriptor.group).to.equal(`plugin.${serviceDomain}`);
    await server.client.delete(kind?.descriptor as ModelDescriptor, 'shop');
    await eventually(async () => expect(await rolesOf()).to.deep.equal([]));
  });

  it('are kept on a shared database when the Plugin object is deleted and created again within a minute', async () => {
    host.add(shop([reader]));
    await host.start();
    await host.stop();
    const clock = new FakeClock();
    host = new PluginHost({ server: sharing(server), clock, leaderElection: false });
    await host.start();
    const kind = pluginKind(server.schemeManager.serviceDomain);
    const deleted = async (): Promise<void> => {
      await server.client.delete(kind, 'shop');
      await eventually(() => host.isIdle());
    };
    await deleted();
    expect(await rolesOf()).to.deep.equal(['plugin:shop:reader']);
    await server.client.create(kind, { metadata: { name: 'shop' }, spec: { enabled: true } });
    await clock.advance(60_000);
    await eventually(() => host.isIdle());
    expect(await rolesOf()).to.deep.equal(['plugin:shop:reader']);
    await deleted();
    await clock.advance(60_000);
    await eventually(async () => expect(await rolesOf()).to.deep.equal([]));
  });

  it('may be bound to another plugin, whose client then may list the kind', async () => {
    const made: { list?: () => Promise<unknown> } = {};
    const start = ({ client }: PluginContext): void => void (made.list = () => client.list(Widget));
    const other = pluginSource('other', { start });
    host.add(shop([reader]));
    host.add({ ...other, manifest: { ...other.manifest, permissions: [] } });
    await host.start();
    const refused = await made.list?.().catch((error: unknown) => error);
    expect(refused).to.include({ reason: 'Forbidden' });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'plugin:shop:reader' };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:plugin:other' }];
    const client = createClient(server.url);
    await client.create(binding, { metadata: { name: 'other-reads' }, roleRef, subjects });
    expect(await made.list?.()).to.deep.include({ items: [] });
  });
});
