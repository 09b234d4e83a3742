import type { ApiServer } from '@homeostat/apiserver';
import { ignoreNotFound } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { PermissionRule, PluginRole } from '../manifest/permission-rules.ts';
import type { PluginManifest } from '../manifest/manifest.ts';

interface ClusterRole extends ApiObject {
  readonly rules: readonly PermissionRule[];
}

export interface PluginRolesParts {
  readonly server: Pick<ApiServer, 'client' | 'schemeManager'>;
}

const clusterRole = { group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'ClusterRole' };

/** The field manager of the roles. The host writes them, because a plugin cannot write roles. */
const fieldManager = 'plugin-host';

/**
 * Writes the roles that a plugin offers: ClusterRoles `plugin:<plugin>:<role>`, each aggregated to the default roles
 * that it names. Deletes the roles that the plugin no longer offers.
 */
export async function applyRoles(
  { name, roles = [] }: Pick<PluginManifest, 'name' | 'roles'>,
  parts: PluginRolesParts,
): Promise<void> {
  const model = modelIn(parts);
  if (model === undefined) return;
  for (const role of roles) {
    const object = { metadata: { name: roleName(name, role), labels: labelsOf(name, role, parts) }, rules: role.rules };
    await parts.server.client.apply(model, object, { fieldManager, force: true });
  }
  const wanted = roles.map((role) => roleName(name, role));
  await deleteRoles(name, model, { ...parts, keep: wanted });
}

/** Deletes all roles of a plugin that was removed. */
export async function removeRoles(name: string, parts: PluginRolesParts): Promise<void> {
  const model = modelIn(parts);
  if (model !== undefined) await deleteRoles(name, model, { ...parts, keep: [] });
}

async function deleteRoles(
  plugin: string,
  model: ModelDescriptor<ClusterRole>,
  { server, keep }: PluginRolesParts & { readonly keep: readonly string[] },
): Promise<void> {
  const labelSelector = `${pluginLabel(server)}=${plugin}`;
  const { items } = await server.client.list(model, { labelSelector });
  for (const { metadata } of items) {
    if (!keep.includes(metadata.name)) await server.client.delete(model, metadata.name).catch(ignoreNotFound);
  }
}

function modelIn({ server }: PluginRolesParts): ModelDescriptor<ClusterRole> | undefined {
  return server.schemeManager.lookup(clusterRole)?.descriptor as ModelDescriptor<ClusterRole> | undefined;
}

function roleName(plugin: string, { name }: PluginRole): string {
  return `plugin:${plugin}:${name}`;
}

function labelsOf(
  plugin: string,
  { aggregateTo = [] }: PluginRole,
  { server }: PluginRolesParts,
): Readonly<Record<string, string>> {
  const aggregated = aggregateTo.map((role) => [`rbac.authorization.k8s.io/aggregate-to-${role}`, 'true'] as const);
  return { [pluginLabel(server)]: plugin, ...Object.fromEntries(aggregated) };
}

function pluginLabel({ schemeManager }: PluginRolesParts['server']): string {
  return `plugin.${schemeManager.serviceDomain}/name`;
}
