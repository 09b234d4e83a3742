import { isArray, isObject, textOf } from '../base/json.ts';
import type { Json } from '../base/json.ts';
import { nameOf, namespaceOf } from '../base/object.ts';
import type { ApiObject } from '../base/object.ts';
import { mayDo, ruleOf } from '../api/rights.ts';
import type { Rule } from '../api/rights.ts';
import { objectsOf } from './plugins.ts';
import { api, may } from './session.ts';

const rbac = 'rbac.authorization.k8s.io';
const kinds = ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'] as const;

/** A role that a binding gives to a subject. */
export interface Grant {
  readonly subject: { readonly kind: string; readonly namespace: string; readonly name: string };
  /** The namespace in which the grant is valid; empty when it is valid in all namespaces. */
  readonly namespace: string;
  readonly binding: string;
  readonly role: string;
  readonly isClusterRole: boolean;
  readonly rules: readonly Rule[];
}

/** A user, a group or a service account, which may have permissions. */
export interface Subject {
  /** The user name under which the subject sends requests; for a group, the name of the group. */
  readonly user: string;
  readonly groups: readonly string[];
  readonly isNamedBy: (subject: Grant['subject']) => boolean;
}

export function userSubject(user: string, groups: readonly string[]): Subject {
  return { user, groups, isNamedBy: ({ kind, name }) => kind === 'User' && name === user };
}

export function groupSubject(group: string): Subject {
  return { user: group, groups: [], isNamedBy: ({ kind, name }) => kind === 'Group' && name === group };
}

export function accountSubject(namespace: string, account: string): Subject {
  const user = `system:serviceaccount:${namespace}:${account}`;
  return {
    user,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    isNamedBy: ({ kind, namespace: at, name }) =>
      kind === 'ServiceAccount' ? at === namespace && name === account : kind === 'User' && name === user,
  };
}

export const mayReadGrants = (): boolean => kinds.every((plural) => may('list', { group: rbac, plural }));

export const bindingKeyOf = ({ namespace }: Grant): string =>
  `${namespace === '' ? 'clusterrolebindings' : 'rolebindings'}.${rbac}`;
export const roleKeyOf = ({ isClusterRole }: Grant): string => `${isClusterRole ? 'clusterroles' : 'roles'}.${rbac}`;

/** Returns the subject of a grant as a text such as `User ada` or `ServiceAccount default/robot`. */
export function subjectOf({ subject: { kind, namespace, name } }: Grant): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

/** Reads the grants of all bindings to all subjects. @throws ApiFailure */
export async function readGrants(): Promise<readonly Grant[]> {
  const read = async (plural: string): Promise<readonly ApiObject[]> =>
    objectsOf(await api.get(`/apis/${rbac}/v1/${plural}`));
  const [roles = [], clusterRoles = [], ...bindings] = await Promise.all(kinds.map(read));
  const rulesOfRole = new Map(
    [...roles, ...clusterRoles].map((each) => [roleName(each), listOf(each.rules).map(ruleOf)]),
  );
  return bindings.flat().flatMap((binding) => {
    const ref = isObject(binding.roleRef) ? binding.roleRef : {};
    const namespace = namespaceOf(binding);
    const isClusterRole = ref.kind !== 'Role';
    const role = textOf(ref.name);
    const rules = rulesOfRole.get(`${isClusterRole ? '' : namespace}/${role}`) ?? [];
    return listOf(binding.subjects).map((each) => ({
      subject: { kind: textOf(each.kind), namespace: textOf(each.namespace), name: textOf(each.name) },
      namespace,
      binding: nameOf(binding),
      role,
      isClusterRole,
      rules,
    }));
  });
}

/** True for a rule that allows the verb for a kind, or for some of its objects. */
export function covers(rule: Rule, verb: string, key: string): boolean {
  const [resource = '', ...group] = key.split('.');
  return mayDo([{ ...rule, resourceNames: [] }], { verb, group: group.join('.'), resource });
}

const roleName = (role: ApiObject): string => `${namespaceOf(role)}/${nameOf(role)}`;

function listOf(value: Json | undefined) {
  return isArray(value) ? value.filter(isObject) : [];
}
