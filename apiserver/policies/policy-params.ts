import { matchesLabels } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { selectorOf } from '../authorization/label-selector.ts';
import type { AdmissionPolicy, ParamRef } from '../builtin/objects/policy-objects.ts';
import type { Entry } from '../index/entry.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { decodeObject } from '../registry/object/object-codec.ts';

/**
 * The maximum number of parameter objects of a binding. If its selector matches more, the binding cannot be used:
 * otherwise the further objects would silently restrict nothing. Kubernetes has no limit.
 */
const maxParams = 100;

export interface ParamsAsked {
  readonly paramKind: AdmissionPolicy['spec']['paramKind'];
  readonly paramRef: ParamRef | undefined;
  /** The namespace of the written object. */
  readonly namespace: string | undefined;
}

/**
 * Returns the objects that a binding names or selects as parameters. A policy is evaluated once for each of them.
 * Returns `[undefined]` when the policy is evaluated only once, without parameters.
 * @throws Error for a binding that cannot be used
 */
export function paramsOf(
  table: ResourceTable,
  { paramKind, paramRef, namespace }: ParamsAsked,
): readonly (ApiObject | undefined)[] {
  if (paramKind === undefined || paramRef === undefined) return [undefined];
  const slash = paramKind.apiVersion.indexOf('/');
  const group = slash < 0 ? '' : paramKind.apiVersion.slice(0, slash);
  const version = paramKind.apiVersion.slice(slash + 1);
  const resource = table.get({ group, version, kind: paramKind.kind });
  if (resource === undefined)
    throw new Error(`paramKind kind \`${paramKind.apiVersion}, Kind=${paramKind.kind}\` not known`);
  const found = find(resource, paramRef, namespaceOf(resource, paramRef, namespace));
  if (found.length > maxParams)
    throw new Error(
      `the selector of paramRef matches more than ${maxParams} parameter objects: narrow spec.paramRef.selector, or put the parameters into fewer objects`,
    );
  if (found.length > 0 || paramRef.parameterNotFoundAction !== 'Deny')
    return found.map((entry) => decodeObject(resource.show(entry).bytes));
  throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction');
}

function namespaceOf({ model }: Resource, paramRef: ParamRef, namespace: string | undefined): string | undefined {
  const own = paramRef.namespace ?? '';
  if (model.scope === 'Namespaced') {
    const used = own === '' ? namespace : own;
    if (used === undefined)
      throw new Error('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
    return used;
  }
  if (own !== '') throw new Error('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  return undefined;
}

function keyIn(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/**
 * Returns the objects that a reference names or selects, at most one more than the maximum. Throws when an object that
 * the reference names, or may select, cannot be read. Otherwise, the policy would silently ignore this object.
 */
function find({ cache }: Resource, { name = '', selector }: ParamRef, namespace: string | undefined): readonly Entry[] {
  const isWanted = (key: string): boolean =>
    name === '' ? namespace === undefined || key.startsWith(`${namespace}/`) : key === keyIn(namespace, name);
  const unreadable = [...cache.broken.keys()].find(isWanted);
  if (unreadable !== undefined)
    throw new Error(`the parameter object "${unreadable}" cannot be read: correct or delete it`);
  if (name !== '') {
    const entry = cache.get(keyIn(namespace, name));
    return entry === undefined ? [] : [entry];
  }
  const matcher = selectorOf(selector ?? {});
  const found: Entry[] = [];
  for (const entry of cache.entries()) {
    if (found.length > maxParams) break;
    if (!isWanted(entry.key)) continue;
    const { metadata } = decodeObject(entry.bytes);
    if (matchesLabels(matcher, metadata.labels ?? {})) found.push(entry);
  }
  return found;
}
