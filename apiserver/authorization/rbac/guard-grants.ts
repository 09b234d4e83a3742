import { ApiError, deepEqual } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { clusterRoleKind, isBindingKind, roleKind } from '../../builtin/rbac-kinds.ts';
import type { BindingObject, RoleObject } from '../../builtin/objects/rbac-objects.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { notFound, resourceName } from '../../registry/object/resource-errors.ts';
import type { GuardedWrite, WriteGuard } from '../../registry/writes/registry-parts.ts';
import { escalationOf } from '../escalation.ts';
import { fullAuthority, isMaster } from '../rbac-authorizer.ts';
import type { RbacAuthorizer } from '../rbac-authorizer.ts';

/**
 * Returns the guard that lets users grant only permissions that they have themselves. To write a role, a user needs all
 * of its rules, or the verb `escalate` on the role. For a role with an aggregationRule, the user needs full authority
 * instead of the rules. To write a binding, a user needs all rules of its role, or the verb `bind` on the role. The
 * server itself may grant everything.
 */
export function grantGuard(authorizer: RbacAuthorizer): WriteGuard {
  return {
    covers: ({ model }) => model.group === roleKind.group,
    check(resource, write) {
      const { user, next, stored } = write;
      if (user === undefined || isMaster(user) || (stored !== undefined && grantsTheSame(next, stored))) return;
      const why = isBindingKind(resource.model)
        ? bindingProblem(authorizer, user, next as BindingObject)
        : roleProblem(authorizer, user, { resource, write });
      if (why !== undefined) throw refusal(resource, next, why);
    },
  };
}

/** True when a write changes only metadata other than labels and annotations, as deletion and garbage collection do. */
function grantsTheSame(next: ApiObject, stored: ApiObject): boolean {
  return deepEqual(authored(next), authored(stored));
}

function authored(object: ApiObject): object {
  const { labels = {}, annotations = {} } = object.metadata;
  return { ...object, metadata: { labels, annotations } };
}

function roleProblem(
  authorizer: RbacAuthorizer,
  user: UserInfo,
  { resource, write }: { readonly resource: Resource; readonly write: GuardedWrite },
): string | undefined {
  const { next, stored }: { readonly next: RoleObject; readonly stored?: RoleObject | undefined } = write;
  const { name, namespace } = next.metadata;
  const { group, version, plural } = resource.model;
  const asked = { isResource: true, verb: 'escalate', group, version, resource: plural, namespace } as const;
  // As in Kubernetes, the decision about a creation does not depend on the name of the object.
  if (authorizer.decide(user, stored === undefined ? asked : { ...asked, name }).allowed) return undefined;
  const problem = escalationOf(authorizer, { user, namespace, rules: next.rules ?? [] });
  if (problem !== undefined || (!isAggregated(next) && !isAggregated(stored))) return problem;
  if (escalationOf(authorizer, { user, namespace: undefined, rules: fullAuthority }) === undefined) return undefined;
  return 'must have cluster-admin privileges to use an aggregationRule';
}

function isAggregated(role: RoleObject | undefined): boolean {
  return role?.aggregationRule !== undefined && role.aggregationRule !== null;
}

function bindingProblem(authorizer: RbacAuthorizer, user: UserInfo, next: BindingObject): string | undefined {
  const { roleRef } = next;
  const { namespace } = next.metadata;
  const { group, version, plural } = roleRef.kind === roleKind.kind ? roleKind : clusterRoleKind;
  const role = { group, version, resource: plural, namespace, name: roleRef.name };
  if (authorizer.decide(user, { isResource: true, verb: 'bind', ...role }).allowed) return undefined;
  const rules = authorizer.rulesOfRole(roleRef, namespace);
  if (rules === undefined) throw notFound(roleRef.kind === roleKind.kind ? roleKind : clusterRoleKind, roleRef.name);
  return escalationOf(authorizer, { user, namespace, rules });
}

function refusal({ model }: Resource, { metadata: { name } }: ApiObject, why: string): ApiError {
  const { group, plural } = model;
  return new ApiError('Forbidden', `${resourceName(model)} "${name}" is forbidden: ${why}`, {
    details: { name, group, kind: plural },
  });
}
