import { matchesPattern, variablesOf } from './path-pattern.ts';
import { nearest } from './predicates.ts';
import type { Mismatch } from './predicates.ts';
import type { HandlerFunction, RouteDefinition, RouterEntry } from './router.ts';
import type { ServerRequest } from './server-request.ts';

/** A request, and the segments of its path. */
export interface RouteQuery {
  /**
   * The request. A route or a router function whose path has variables gets a copy of the request from
   * {@link findRoute}, with the values of these variables.
   */
  readonly request: ServerRequest;
  readonly method: string;
  /** The segments of the whole path, from `splitPath`. */
  readonly segments: readonly string[];
  /**
   * The number of segments at the start of the path that are not a part of the paths of routes: apis, group, version.
   */
  readonly offset: number;
}

export type RouteResult<E> =
  | { readonly kind: 'found'; readonly entry: E; readonly handler: HandlerFunction; readonly request: ServerRequest }
  /** Routes match the path, but none of them has the method. */
  | { readonly kind: 'method'; readonly allowed: readonly string[] }
  /** Routes match path and method, but their predicates do not match. */
  | { readonly kind: 'mismatch'; readonly mismatch: Mismatch }
  /** A predicate or a router function threw. */
  | { readonly kind: 'failed'; readonly entry: E; readonly error: unknown };

/**
 * Returns the first entry that matches the request. If a predicate or a router function throws before that, returns its
 * error. If no entry matches, but the paths of routes do, returns the reason: the methods or the predicates of these
 * routes. Otherwise returns undefined.
 */
export function findRoute<E extends { readonly definition: RouterEntry }>(
  entries: readonly E[],
  query: RouteQuery,
): RouteResult<E> | undefined {
  const { segments, offset } = query;
  const allowed = new Set<string>();
  let mismatch: Mismatch | undefined;
  for (const entry of entries) {
    const { definition } = entry;
    if (!matchesPattern(definition.segments, segments, offset)) continue;
    if (definition.kind === 'route') {
      if (segments.length !== offset + definition.segments.length) continue;
      allowed.add(definition.method);
      if (!takesMethod(definition, query.method)) continue;
    }
    const tried = tryEntry(entry, query);
    if (tried?.kind !== 'mismatch') {
      if (tried !== undefined) return tried;
    } else mismatch = nearest(mismatch, tried.mismatch);
  }
  if (mismatch !== undefined) return { kind: 'mismatch', mismatch };
  return allowed.size === 0 ? undefined : { kind: 'method', allowed: [...allowed] };
}

/** True when the route handles the method. A GET route handles HEAD, too, unless a HEAD route precedes it. */
function takesMethod({ method: own }: RouteDefinition, method: string): boolean {
  return own === method || (method === 'HEAD' && own === 'GET');
}

function tryEntry<E extends { readonly definition: RouterEntry }>(
  entry: E,
  query: RouteQuery,
): RouteResult<E> | undefined {
  const { definition } = entry;
  try {
    const request = withVariables(definition, query);
    if (definition.kind === 'route') {
      const mismatch = definition.predicate?.mismatch(request);
      if (mismatch !== undefined) return { kind: 'mismatch', mismatch };
      return { kind: 'found', entry, handler: definition.handler, request };
    }
    const handler = definition.find(request);
    if (handler === undefined) return undefined;
    if (typeof handler !== 'function') throw new TypeError('a router function must return a handler or undefined');
    return { kind: 'found', entry, handler, request };
  } catch (error) {
    return { kind: 'failed', entry, error };
  }
}

function withVariables({ segments: pattern }: RouterEntry, { request, segments, offset }: RouteQuery): ServerRequest {
  const hasVariables = pattern.some(({ kind }) => kind === 'variable');
  return hasVariables ? request.withPathVariables(variablesOf(pattern, segments, offset)) : request;
}
