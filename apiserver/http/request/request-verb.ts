import type { Context } from 'koa';
import type { Attributes } from '../../authorization/attributes.ts';
import { applyType } from './patch-body.ts';
import { firstOf, queryOf } from './query.ts';
import { parseResourcePath } from './resource-path.ts';
import type { ResourcePath } from './resource-path.ts';

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** True for a GET that starts a watch. Any value of `watch` except `false` and `0` does; Python sends `True`. */
export function isWatchRequest(context: Context, path: ResourcePath): boolean {
  if (context.method !== 'GET' || path.subresource !== undefined) return false;
  if (path.watch) return true;
  const value = path.name === undefined ? firstOf(queryOf(context), 'watch') : undefined;
  return value !== undefined && value.toLowerCase() !== 'false' && value !== '0';
}

/** The verb of a request in Kubernetes' metrics; without a kind, its method. No part of it is chosen by the client. */
export function requestVerb(context: Context, path: ResourcePath | undefined): string {
  const { method } = context;
  if (path === undefined) return methods.has(method) ? method : 'OTHER';
  if (isWatchRequest(context, path)) return 'WATCH';
  if (method === 'GET' || method === 'HEAD') return path.name === undefined ? 'LIST' : 'GET';
  if (method === 'PATCH') return context.get('Content-Type').startsWith(applyType) ? 'APPLY' : 'PATCH';
  if (method === 'DELETE' && path.name === undefined) return 'DELETECOLLECTION';
  return methods.has(method) ? method : 'OTHER';
}

/** Returns the parsed path of a request, or undefined for one that cannot be an object's; it is parsed once. */
export function resourcePathOf(context: Context): ResourcePath | undefined {
  const state = context.state;
  if (state.path === undefined) state.path = parseResourcePath(context.path) ?? null;
  return state.path ?? undefined;
}

/** The verb of each method on one object. HEAD is a GET whose body is not sent. */
const objectVerbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** The verbs on a collection, where they differ. */
const collectionVerbs: Readonly<Record<string, string>> = { GET: 'list', HEAD: 'list', DELETE: 'deletecollection' };

/** Returns the attributes of a request, from its method and path alone; they are computed once for each request. */
export function askedOf(context: Context): Attributes {
  const state = context.state;
  if (state.asked !== undefined) return state.asked;
  const path = resourcePathOf(context);
  if (path === undefined) {
    state.asked = { isResource: false, verb: context.method.toLowerCase(), path: context.path };
  } else {
    const { group, version, plural: resource, subresource, namespace, name } = path;
    const verb = verbOf(context, path);
    state.asked = { isResource: true, verb, group, version, resource, subresource, namespace, name };
  }
  return state.asked;
}

function verbOf(context: Context, path: ResourcePath): string {
  if (isWatchRequest(context, path)) return 'watch';
  const { method } = context;
  const ofCollection = path.name === undefined ? collectionVerbs[method] : undefined;
  return ofCollection ?? objectVerbs[method] ?? method.toLowerCase();
}
