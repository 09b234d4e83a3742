import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { PatternSegment } from './path-pattern.ts';
import type { RequestPredicate } from './predicates.ts';
import type { ServerRequest } from './server-request.ts';
import type { ServerResponse } from './server-response.ts';

/** What an answer may be: ours, or the platform's own (as `fetch` answers it). */
export type EndpointResponse = ServerResponse | Response;

/**
 * Answers a request. A thrown ApiError becomes its Status; anything else is a 500 without inner text, logged with plugin
 * and route.
 */
export type HandlerFunction = (request: ServerRequest) => EndpointResponse | Promise<EndpointResponse>;

/** Answers the handler of a request, or undefined when it is none of its own: then the next one is asked. Synchronous. */
export type RouterFunction = (request: ServerRequest) => HandlerFunction | undefined;

/** Methods that a route may have. */
export type RouteMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What documents say about a route, and its deadline. */
export interface RouteOptions {
  readonly summary?: string;
  /** Schema of the JSON body. A functional handler checks it by `request.json(schema)`; for a controller's method the server does. */
  readonly body?: JsonSchema;
  /** Schemas of the query parameters, by name; for API documents only. */
  readonly query?: Readonly<Record<string, JsonSchema>>;
  /** Schema of the JSON response; for API documents only. */
  readonly response?: JsonSchema;
  /** How long the handler may take to give its response, in ms; then 504. What it streams may go on. Default 30,000. */
  readonly deadlineMs?: number;
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

/** A function that says itself what it matches, asked for all paths below `segments`. */
interface FunctionDefinition {
  readonly kind: 'function';
  readonly segments: readonly PatternSegment[];
  readonly find: RouterFunction;
}

export type RouterEntry = RouteDefinition | FunctionDefinition;

/** What a router that was built consists of; the server works on this, not on the function. */
export interface RouterDefinition {
  /** `<group>/<version>`; undefined for a router that is a part of another. */
  readonly groupVersion: string | undefined;
  /** The first that matches answers. */
  readonly entries: readonly RouterEntry[];
}

// Of the global registry, since a plugin may bring a second copy of this package.
const definitionSymbol: symbol = Symbol.for('homeostat.router');

/** A router as {@link RouteBuilder.build} answers it: a function that can be asked, and its definition for the server. */
export function createRouter(definition: RouterDefinition, find: RouterFunction): RouterFunction {
  return Object.freeze(Object.defineProperty(find, definitionSymbol, { value: Object.freeze(definition) }));
}

/** What a built router consists of; undefined for any other value. */
export function definitionOf(router: unknown): RouterDefinition | undefined {
  return typeof router === 'function'
    ? (Reflect.get(router, definitionSymbol) as RouterDefinition | undefined)
    : undefined;
}
