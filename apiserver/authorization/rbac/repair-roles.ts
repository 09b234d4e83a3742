import { deepEqual } from '@homeostat/controller-runtime/api';
import type { ApiObject, NewObject, ObjectMeta } from '@homeostat/controller-runtime/api';
import { clusterRoleBindingKind, clusterRoleKind } from '../../builtin/rbac-kinds.ts';
import type { BindingObject, RoleObject } from '../../builtin/objects/rbac-objects.ts';
import { covers } from '../cover-rules.ts';
import type { DefaultBinding, DefaultRole } from './default-roles.ts';

/** The annotation that prevents the repair of a default role or binding, if its value is `false`. */
const autoupdate = 'rbac.authorization.kubernetes.io/autoupdate';

const metadataOf = (
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Pick<ObjectMeta, 'name' | 'labels' | 'annotations'> => ({
  name,
  annotations: { [autoupdate]: 'true' },
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
});

/** An object whose name is known. */
export type NamedObject<T extends ApiObject> = NewObject<T> & { readonly metadata: Pick<ObjectMeta, 'name'> };

/** Returns the ClusterRole of a default role. */
export function newRole({ name, labels, rules, collects }: DefaultRole): NamedObject<RoleObject> {
  const collected =
    collects === undefined
      ? {}
      : { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [collects]: 'true' } }] } };
  return { ...typeOf(clusterRoleKind), metadata: metadataOf(name, labels), ...collected, rules };
}

/** Returns the ClusterRoleBinding of a default binding. */
export function newBinding({ name, roleRef, subjects }: DefaultBinding): NamedObject<BindingObject> {
  return { ...typeOf(clusterRoleBindingKind), metadata: metadataOf(name), roleRef, subjects };
}

/**
 * Returns a stored role to which the missing rules and selectors of the default role are added, and whose default
 * labels and annotations are restored. All other content remains. Returns undefined when the role needs no repair, or
 * must not be repaired.
 */
export function repairedRole(stored: RoleObject, wanted: NewObject<RoleObject>): RoleObject | undefined {
  if (isLeftAlone(stored)) return undefined;
  const rules = stored.rules ?? [];
  const missing = (wanted.rules ?? []).filter((rule) => !covers(rules, rule));
  const own = stored.aggregationRule?.clusterRoleSelectors ?? [];
  const selectors = (wanted.aggregationRule?.clusterRoleSelectors ?? []).filter(
    (selector) => !own.some((each) => deepEqual(each, selector)),
  );
  const collected = selectors.length === 0 ? {} : { aggregationRule: { clusterRoleSelectors: [...own, ...selectors] } };
  const metadata = repairedMetadata(stored.metadata, wanted.metadata);
  const next = {
    ...stored,
    metadata,
    ...collected,
    ...(missing.length === 0 ? {} : { rules: [...rules, ...missing] }),
  };
  return deepEqual(next, stored) ? undefined : next;
}

/**
 * Returns a stored binding to which the missing subjects of the default binding are added, and whose default labels and
 * annotations are restored. Returns `replace` for a binding of another role, which cannot be repaired. Returns
 * undefined when the binding needs no repair, or must not be repaired.
 */
export function repairedBinding(
  stored: BindingObject,
  wanted: NewObject<BindingObject>,
): BindingObject | 'replace' | undefined {
  if (isLeftAlone(stored)) return undefined;
  if (!deepEqual(stored.roleRef, wanted.roleRef)) return 'replace';
  const subjects = stored.subjects ?? [];
  const missing = (wanted.subjects ?? []).filter((subject) => !subjects.some((each) => deepEqual(each, subject)));
  const metadata = repairedMetadata(stored.metadata, wanted.metadata);
  const next = { ...stored, metadata, ...(missing.length === 0 ? {} : { subjects: [...subjects, ...missing] }) };
  return deepEqual(next, stored) ? undefined : next;
}

function isLeftAlone({ metadata: { annotations } }: RoleObject): boolean {
  return annotations?.[autoupdate] === 'false';
}

function repairedMetadata(stored: ObjectMeta, wanted: Partial<ObjectMeta>): ObjectMeta {
  const labels = { ...stored.labels, ...wanted.labels };
  const annotations = { ...stored.annotations, ...wanted.annotations };
  return { ...stored, labels, annotations };
}

function typeOf({ group, version, kind }: typeof clusterRoleKind): {
  readonly apiVersion: string;
  readonly kind: string;
} {
  return { apiVersion: `${group}/${version}`, kind };
}
