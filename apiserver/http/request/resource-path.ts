import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { Attributes } from '../../authorization/attributes.ts';
import { firstOf, queryOf } from './query.ts';

/** The parts of a path under /apis or /api. */
export interface ResourcePath {
  /** The group; empty for the core group (`/api/v1`). */
  readonly group: string;
  readonly version: string;
  readonly namespace?: string | undefined;
  readonly plural: string;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
  /** True for the old form of a watch, `/apis/<g>/<v>/watch/<plural>`. */
  readonly watch: boolean;
}

/** The maximum length of a path. Longer paths cannot be valid, because names have at most 253 characters. */
const maxPathLength = 2048;

/**
 * Parses `/apis/<group>/<version>/[watch/][namespaces/<ns>/]<plural>[/<name>[/<subresource>]]` and `/api/v1/…`. Returns
 * undefined for any other path, also for a path with an empty segment. One trailing slash is ignored (objects-and-http
 * "Endpoints").
 */
export function parseResourcePath(path: string): ResourcePath | undefined {
  if (path.length > maxPathLength || !path.startsWith('/api')) return undefined;
  const known = collections.get(path);
  if (known !== undefined) return known;
  const [root, ...segments] = splitPath(path);
  const isCore = root === 'api';
  if (!isCore && root !== 'apis') return undefined;
  const [group = '', ...rest] = isCore ? ['', ...segments] : segments;
  const parsed = readSegments(group, rest);
  if (parsed !== undefined && parsed.name === undefined) remember(path, parsed);
  return parsed;
}

/**
 * A cache of the parsed paths of collections, which clients send again and again. To parse such a path takes 2 % of the
 * time that the creation of an object takes.
 */
const collections = new Map<string, ResourcePath>();

const maxCollections = 1000;

function remember(path: string, parsed: ResourcePath): void {
  if (collections.size === maxCollections) collections.clear();
  collections.set(path, parsed);
}

/** Returns the decoded segments; an empty list for a path with an empty segment. */
function splitPath(path: string): readonly string[] {
  const trimmed = path.endsWith('/') ? path.slice(1, -1) : path.slice(1);
  const segments = trimmed.split('/');
  if (segments.includes('')) return [];
  return trimmed.includes('%') ? segments.map(decodeSegment) : segments;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new ApiError('BadRequest', 'the path is not valid percent-encoded UTF-8', { cause });
  }
}

/** The subresources of namespaces. No kind of the core group has such a plural. */
const namespaceParts: readonly string[] = ['status', 'finalize', 'history', 'explanation', 'dependents'];

function readSegments(group: string, [version, ...rest]: readonly string[]): ResourcePath | undefined {
  const watch = rest[0] === 'watch' && rest.length > 1;
  const names = watch ? rest.slice(1) : rest;
  // `/namespaces/<ns>` and the paths of its subresources are about the Namespace itself.
  const isPart = group === '' && namespaceParts.includes(names[2] ?? '');
  const namespaced = names[0] === 'namespaces' && names.length > 2 && !isPart;
  const [plural, name, subresource, ...more] = namespaced ? names.slice(2) : names;
  const namespace = namespaced ? names[1] : undefined;
  if (version === undefined || plural === undefined || more.length > 0) return undefined;
  if (namespace !== undefined && !isSafe(namespace)) return undefined;
  return { group, version, plural, watch, namespace, name, subresource };
}

/**
 * Returns whether a namespace obeys Kubernetes' rule for path segments. The rule for names of namespaces needs no check
 * here: a namespace whose name breaks that rule does not exist, so it has no objects.
 */
function isSafe(namespace: string): boolean {
  return namespace !== '.' && namespace !== '..' && !/[/%]/.test(namespace);
}

/** The media type of a server-side apply. */
export const applyType = 'application/apply-patch+yaml';

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * True for a GET that starts a watch. The parameter `watch` starts none when it is `0`, empty or `false`, in upper or
 * lower case. Any other value starts a watch, such as `True`, which clients in Python send.
 */
export function isWatchRequest(context: Context, path: ResourcePath): boolean {
  if (context.method !== 'GET' || path.subresource !== undefined) return false;
  if (path.watch) return true;
  const value = path.name === undefined ? firstOf(queryOf(context), 'watch') : undefined;
  return value !== undefined && value.toLowerCase() !== 'false' && value !== '0';
}

/**
 * Returns the verb of a request in Kubernetes' metrics; for a request without a kind, its method. An unknown method
 * results in OTHER, so that clients cannot invent verbs.
 */
export function requestVerb(context: Context, path: ResourcePath | undefined): string {
  const { method } = context;
  if (path === undefined) return methods.has(method) ? method : 'OTHER';
  if (method === 'GET' && isWatchRequest(context, path)) return 'WATCH';
  if (method === 'GET' || method === 'HEAD') return path.name === undefined ? 'LIST' : 'GET';
  if (method === 'PATCH') return context.get('Content-Type').startsWith(applyType) ? 'APPLY' : 'PATCH';
  if (method === 'DELETE' && path.name === undefined) return 'DELETECOLLECTION';
  return methods.has(method) ? method : 'OTHER';
}

/**
 * Returns the parsed path of a request for an object or a collection; undefined for any other path. The path is parsed
 * once for each request.
 */
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

/** The verbs on a collection, for the methods whose verbs differ from those on an object. */
const collectionVerbs: Readonly<Record<string, string>> = { GET: 'list', HEAD: 'list', DELETE: 'deletecollection' };

/** Returns the attributes of a request, from its method and its path. They are computed once for each request. */
export function askedOf(context: Context): Attributes {
  const state = context.state;
  if (state.asked !== undefined) return state.asked;
  const path = resourcePathOf(context);
  if (path === undefined) {
    state.asked = { isResource: false, verb: context.method.toLowerCase(), path: context.path };
  } else {
    const { group, version, plural: resource, subresource, namespace, name } = path;
    const { method } = context;
    const ofCollection = path.name === undefined ? collectionVerbs[method] : undefined;
    const isWatch = method === 'GET' && isWatchRequest(context, path);
    const verb = isWatch ? 'watch' : (ofCollection ?? objectVerbs[method] ?? method.toLowerCase());
    state.asked = { isResource: true, verb, group, version, resource, subresource, namespace, name };
  }
  return state.asked;
}
