import type { Context } from 'koa';
import { applyType } from './patch-body.ts';
import { firstOf } from './query.ts';
import type { ResourcePath } from './resource-path.ts';

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** True for a GET that starts a watch. Any value of `watch` except `false` and `0` does; Python sends `True`. */
export function isWatchRequest(context: Context, path: ResourcePath): boolean {
  if (context.method !== 'GET' || path.subresource !== undefined) return false;
  if (path.watch) return true;
  const value = path.name === undefined ? firstOf(context.query, 'watch') : undefined;
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
