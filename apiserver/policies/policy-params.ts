import type { ApiObject } from '@homeostat/controller-runtime/api';
import { selectorOf } from '../authorization/label-selector.ts';
import type { AdmissionPolicy, ParamRef } from '../builtin/objects/policy-objects.ts';
import type { Entry } from '../index/entry.ts';
import { prepareQuery } from '../index/queries/prepare-query.ts';
import { compileQuery } from '../index/queries/query.ts';
import { selectInTurns } from '../index/queries/select-in-turns.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import { nextTurn } from '../turns/next-turn.ts';

/**
 * The maximum number of parameter objects of a binding. If its selector matches more, the binding cannot be used. If
 * only the first objects were used, the policy would silently ignore the others. Kubernetes has no limit.
 */
const maxParams = 100;

/** After parsing this number of bytes, which takes about 10 ms, {@link paramsOf} lets other requests run. */
const bytesPerTurn = 1024 * 1024;

export interface ParamsAsked {
  readonly paramKind: AdmissionPolicy['spec']['paramKind'];
  readonly paramRef: ParamRef | undefined;
  /** The namespace of the written object. */
  readonly namespace: string | undefined;
}

/**
 * Resolves with the objects that a binding names or selects as parameters. A policy is evaluated once for each of them.
 * Resolves with `[undefined]` when the policy is evaluated only once, without parameters. Rejects with Error for a
 * binding that cannot be used.
 */
export async function paramsOf(
  table: ResourceTable,
  { paramKind, paramRef, namespace }: ParamsAsked,
): Promise<readonly (ApiObject | undefined)[]> {
  if (paramKind === undefined || paramRef === undefined) return [undefined];
  const slash = paramKind.apiVersion.indexOf('/');
  const group = slash < 0 ? '' : paramKind.apiVersion.slice(0, slash);
  const version = paramKind.apiVersion.slice(slash + 1);
  const resource = table.get({ group, version, kind: paramKind.kind });
  if (resource === undefined)
    throw new Error(`paramKind kind \`${paramKind.apiVersion}, Kind=${paramKind.kind}\` not known`);
  const found = await find(resource, paramRef, namespaceOf(resource, paramRef, namespace));
  if (found.length > maxParams)
    throw new Error(
      `the selector of paramRef matches more than ${maxParams} parameter objects: narrow spec.paramRef.selector, or put the parameters into fewer objects`,
    );
  if (found.length > 0 || paramRef.parameterNotFoundAction !== 'Deny') return decodeAll(resource, found);
  throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction');
}

async function decodeAll(resource: Resource, entries: readonly Entry[]): Promise<readonly ApiObject[]> {
  const objects: ApiObject[] = [];
  let inTurn = 0;
  for (const entry of entries) {
    const { bytes } = resource.show(entry);
    inTurn += bytes.length;
    if (inTurn > bytesPerTurn && objects.length > 0) {
      await nextTurn();
      inTurn = bytes.length;
    }
    objects.push(decodeObject(bytes));
  }
  return objects;
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
 * Resolves with the objects that a reference names or selects, at most one more than the maximum. Rejects when an
 * object that the reference names, or may select, cannot be read. Otherwise, the policy would silently ignore this
 * object.
 */
async function find(
  { cache }: Resource,
  { name = '', selector }: ParamRef,
  namespace: string | undefined,
): Promise<readonly Entry[]> {
  const isWanted = (key: string): boolean =>
    name === '' ? namespace === undefined || key.startsWith(`${namespace}/`) : key === keyIn(namespace, name);
  const unreadable = [...cache.broken.keys()].find(isWanted);
  if (unreadable !== undefined)
    throw new Error(`the parameter object "${unreadable}" cannot be read: correct or delete it`);
  if (name !== '') {
    const entry = cache.get(keyIn(namespace, name));
    return entry === undefined ? [] : [entry];
  }
  const labelSelector = selectorOf(selector ?? {});
  // The index of names always exists, so a sort by name builds no further index.
  const sort = [{ field: 'metadata.name' }];
  const query = compileQuery(cache, { labelSelector, sort, ...(namespace === undefined ? {} : { namespace }) });
  await prepareQuery(cache, query);
  const { entries } = await selectInTurns(cache, query, { count: maxParams + 1 });
  return entries;
}
