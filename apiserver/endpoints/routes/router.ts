import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { PatternSegment } from './path-pattern.ts';
import type { RequestPredicate } from './predicates.ts';
import type { ServerRequest } from './server-request.ts';
import type { ServerResponse } from './server-response.ts';

/** A response: a ServerResponse, or a standard Response (as `fetch` returns it). */
export type EndpointResponse = ServerResponse | Response;

/**
 * Handles a request and returns the response. A thrown ApiError is sent as its Status; any other error is a 500 without
 * details, and is logged with plugin and route.
 */
export type HandlerFunction = (request: ServerRequest) => EndpointResponse | Promise<EndpointResponse>;

/** Returns the handler of a request, synchronously. When it returns undefined, the next route or function is tried. */
export type RouterFunction = (request: ServerRequest) => HandlerFunction | undefined;

/** Methods that a route may have. */
export type RouteMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Options of a route: descriptions for API documents, its deadline, and the permission that it needs. */
export interface RouteOptions {
  readonly summary?: string;
  /**
   * The schema of the JSON body. A functional handler checks the body by `request.json(schema)`; for a controller's
   * method, the server checks it.
   */
  readonly body?: JsonSchema;
  /** The schemas of the query parameters, by name; only for API documents. */
  readonly query?: Readonly<Record<string, JsonSchema>>;
  /** The schema of the JSON response; only for API documents. */
  readonly response?: JsonSchema;
  /**
   * The milliseconds within which the handler must return its response; after that, the client receives a 504. A stream
   * may last longer. Default 30,000.
   */
  readonly deadlineMs?: number;
  /**
   * The permission that a request needs on a resource. If this is absent, the request needs a permission for its path
   * (`nonResourceURLs` in RBAC); the verb is the method in lower case.
   */
  readonly permission?: RoutePermission;
}

/** The permission that the requests of a route need on a resource. */
export interface RoutePermission {
  /** The verb: `get`, `list`, `create`, `update`, `patch`, `delete`, or a verb that the plugin defines. */
  readonly verb: string;
  /** The API group. Default: the group of the router or controller. */
  readonly group?: string;
  /** The plural of the resource, such as `persons`, or with a subresource, `persons/greeting`. */
  readonly resource: string;
  /** The variable in the route's path whose value is the name of the object. Default: the request names no object. */
  readonly nameFrom?: string;
  /** The variable in the route's path whose value is the namespace. Default: the request is at the cluster scope. */
  readonly namespaceFrom?: string;
}

/** One route of a router; its path is relative to `/apis/<group>/<version>`. */
export interface RouteDefinition {
  readonly kind: 'route';
  readonly method: RouteMethod;
  readonly segments: readonly PatternSegment[];
  readonly predicate: RequestPredicate | undefined;
  readonly handler: HandlerFunction;
  readonly options: RouteOptions;
}

/**
 * A function that matches requests itself. It is called for each path that begins with `segments`, unless an entry
 * before it handles the request.
 */
interface FunctionDefinition {
  readonly kind: 'function';
  readonly segments: readonly PatternSegment[];
  readonly find: RouterFunction;
}

export type RouterEntry = RouteDefinition | FunctionDefinition;

/** The parts of a built router. A router is a function, but the server reads its parts and does not call it. */
export interface RouterDefinition {
  /** `<group>/<version>`; undefined for a router that can only be a part of another router. */
  readonly groupVersion: string | undefined;
  /** The entries in their order. The first entry that matches a request handles it. */
  readonly entries: readonly RouterEntry[];
}

// The symbol is in the global registry, since a plugin may load a second copy of this package.
const definitionSymbol: symbol = Symbol.for('homeostat.router');

/**
 * Creates the router that {@link RouteBuilder.build} returns: the function `find`, which authors can call. Attaches the
 * definition to the function, so that the server can read it.
 */
export function createRouter(definition: RouterDefinition, find: RouterFunction): RouterFunction {
  return Object.freeze(Object.defineProperty(find, definitionSymbol, { value: Object.freeze(definition) }));
}

/** Returns the definition of a built router; undefined for any other value. */
export function definitionOf(router: unknown): RouterDefinition | undefined {
  const definition: unknown = typeof router === 'function' ? Reflect.get(router, definitionSymbol) : undefined;
  return isDefinition(definition) ? definition : undefined;
}

function isDefinition(value: unknown): value is RouterDefinition {
  return typeof value === 'object' && value !== null && 'entries' in value;
}
