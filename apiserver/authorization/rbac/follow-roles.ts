import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from '../../builtin/rbac-kinds.ts';
import type { BindingObject, RoleObject } from '../../builtin/objects/rbac-objects.ts';
import type { Entry } from '../../index/entry.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import type { ResourceTable } from '../../registry/kinds/resource-table.ts';
import type { RbacAuthorizer } from '../rbac-authorizer.ts';
import type { BindingContent, RoleContent } from '../role-content.ts';

/** Passes the objects of one kind to an authorizer. */
interface Reader {
  readonly put: (entry: Entry) => void;
  readonly remove: (entry: Entry) => void;
}

/**
 * Keeps an authorizer up to date with the stored roles and bindings. As soon as a change is in memory, it applies to
 * all further requests. The listeners are never removed, because these kinds are served as long as the server runs.
 */
export function followRoles(table: ResourceTable, authorizer: RbacAuthorizer): void {
  const roles: Reader = {
    put: (entry) => authorizer.setRole(roleContent(decodeObject(entry.bytes))),
    remove: (entry) => authorizer.removeRole(entry),
  };
  const bindings: Reader = {
    put: (entry) => authorizer.setBinding(bindingContent(decodeObject(entry.bytes))),
    remove: (entry) => authorizer.removeBinding(entry),
  };
  const readers = new Map<string, Reader>([
    [roleKind.kind, roles],
    [clusterRoleKind.kind, roles],
    [roleBindingKind.kind, bindings],
    [clusterRoleBindingKind.kind, bindings],
  ]);
  table.on('opened', (resource) => {
    const { group, kind } = resource.model;
    const reader = group === roleKind.group ? readers.get(kind) : undefined;
    if (reader !== undefined) follow(resource, reader);
  });
}

function follow({ cache, feed }: Resource, { put, remove }: Reader): void {
  for (const entry of cache.entries()) put(entry);
  feed.subscribe(({ type, entry }) => (type === 'DELETED' ? remove(entry) : put(entry)));
}

/** Returns what a stored role allows. */
function roleContent({ metadata, rules, aggregationRule }: RoleObject): RoleContent {
  const { name, namespace, labels } = metadata;
  const aggregates = aggregationRule?.clusterRoleSelectors ?? undefined;
  return { name, namespace, labels, rules: rules ?? [], aggregates };
}

/** Returns what a stored binding grants. */
function bindingContent({ metadata, roleRef, subjects }: BindingObject): BindingContent {
  const { name, namespace } = metadata;
  return { name, namespace, roleRef, subjects: subjects ?? [] };
}
