import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { PatternSegment } from './path-pattern.ts';
import type { RequestPredicate } from './predicates.ts';
import type { ServerRequest } from './server-request.ts';
import type { ServerResponse } from './server-response.ts';

/** A response: a ServerResponse, or the platform's Response (as `fetch` returns it). */
export type EndpointResponse = ServerResponse | Response;

/**
 * Handles a request and returns the response. A thrown ApiError is sent as its Status; any other error is a 500 without
 * details, and is logged with plugin and route.
 */
export type HandlerFunction = (request: ServerRequest) => EndpointResponse | Promise<EndpointResponse>;

/**
 * Returns the handler of a request, synchronously; undefined when it does not match, so that the next function is
 * called.
 */
export type RouterFunction = (request: ServerRequest) => HandlerFunction | undefined;

/** Methods that a route may have. */
export type RouteMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Descriptions of a route for API documents, and its deadline. */
export interface RouteOptions {
  readonly summary?: string;
  /** Schema of the JSON body. A functional handler checks it by `request.json(schema)`; for a controller's method the server does. */
  readonly body?: JsonSchema;
  /** Schemas of the query parameters, by name; for API documents only. */
  readonly query?: Readonly<Record<string, JsonSchema>>;
  /** Schema of the JSON response; for API documents only. */
  readonly response?: JsonSchema;
  /**
   * Milliseconds within which the handler must return its response; after that, the client gets a 504. A stream may
   * last longer. Default 30,000.
   */
  readonly deadlineMs?: number;
  /**
   * The permission on a resource that a request needs. Without it, the request needs permission for the path itself
   * (`nonResourceURLs` in RBAC); the verb is the method in lower case.
   */
  readonly permission?: RoutePermission;
}

/** The permission on a resource that requests of a route need. */
export interface RoutePermission {
  /** `get`, `list`, `create`, `update`, `patch`, `delete`, or a verb of the plugin's own. */
  readonly verb: string;
  /** The API group. Default: the group of the router or controller. */
  readonly group?: string;
  /** The plural; with a subresource, `persons/greeting`. */
  readonly resource: string;
  /** The variable of the route's path with the object's name. Default: the request names no object. */
  readonly nameFrom?: string;
  /** The variable with the namespace. Default: the request is at the cluster scope. */
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

/** A function that matches requests itself; called for all paths below `segments`. */
interface FunctionDefinition {
  readonly kind: 'function';
  readonly segments: readonly PatternSegment[];
  readonly find: RouterFunction;
}

export type RouterEntry = RouteDefinition | FunctionDefinition;

/** The parts of a built router, with which the server works instead of the function. */
export interface RouterDefinition {
  /** `<group>/<version>`; undefined for a router that is a part of another. */
  readonly groupVersion: string | undefined;
  /** The entries in their order: the first that matches handles the request. */
  readonly entries: readonly RouterEntry[];
}

// A symbol of the global registry, since a plugin may bring a second copy of this package.
const definitionSymbol: symbol = Symbol.for('homeostat.router');

/** Makes the router that {@link RouteBuilder.build} returns: a function that callers can use, with its definition for the server. */
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
