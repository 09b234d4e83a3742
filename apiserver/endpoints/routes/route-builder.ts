import { afterFilter, beforeFilter, errorFilter, withFilters } from './filters.ts';
import type { AfterFunction, BeforeFunction, ErrorFunction, FilterFunction } from './filters.ts';
import { findRoute } from './find-route.ts';
import { checkVariables, parsePattern, splitPath } from './path-pattern.ts';
import type { PatternSegment } from './path-pattern.ts';
import type { RequestPredicate } from './predicates.ts';
import { createRouter, definitionOf } from './router.ts';
import type { HandlerFunction, RouteMethod, RouteOptions, RouterEntry, RouterFunction } from './router.ts';
import type { ServerRequest } from './server-request.ts';

/** The arguments after the path of a route: an optional condition, the handler, and the options. */
export type RouteArguments =
  | readonly [handler: HandlerFunction, options?: RouteOptions]
  | readonly [predicate: RequestPredicate, handler: HandlerFunction, options?: RouteOptions];

/** The number of segments of `/apis/<group>/<version>`, which precede the path of each route. */
const mountLength = 3;

/**
 * Returns a builder for a router. `groupVersion` is `<group>/<version>`; the routes are served under
 * `/apis/<group>/<version>`. A router without `groupVersion` can only be a part of another router ({@link
 * RouteBuilder.add}).
 */
export function route(groupVersion?: string): RouteBuilder {
  return new RouteBuilder(groupVersion);
}

/**
 * Collects routes (specification, section 4.3, functional style); the first route that matches a request handles it.
 * Filters (`filter`, `before`, `after`, `onError`) apply to all routes of their builder, in the order in which they are
 * added: the first is the outermost.
 */
export class RouteBuilder {
  readonly #groupVersion: string | undefined;
  readonly #entries: RouterEntry[] = [];
  readonly #filters: FilterFunction[] = [];

  constructor(groupVersion?: string) {
    this.#groupVersion = groupVersion;
  }

  /**
   * Adds a route for GET and HEAD; the response to HEAD has no body. @throws TypeError for a malformed path, as the
   * other methods do.
   */
  GET(path: string, ...rest: RouteArguments): this {
    return this.#route('GET', path, rest);
  }

  HEAD(path: string, ...rest: RouteArguments): this {
    return this.#route('HEAD', path, rest);
  }

  POST(path: string, ...rest: RouteArguments): this {
    return this.#route('POST', path, rest);
  }

  PUT(path: string, ...rest: RouteArguments): this {
    return this.#route('PUT', path, rest);
  }

  PATCH(path: string, ...rest: RouteArguments): this {
    return this.#route('PATCH', path, rest);
  }

  DELETE(path: string, ...rest: RouteArguments): this {
    return this.#route('DELETE', path, rest);
  }

  /** Adds routes below a path. Filters of the nested builder run inside those of this builder. */
  nest(path: string, define: (builder: RouteBuilder) => unknown): this {
    const inner = new RouteBuilder();
    define(inner);
    return this.#addAll(inner.#wrapped(), parsePattern(path));
  }

  /**
   * Adds the routes of another router, or a function that matches requests itself. API documents do not show such a
   * function. The server calls the function only for paths that are not generated paths of kinds, so the paths that the
   * function matches are not checked for collisions. If the function is added within {@link nest}, the path of `nest`
   * is checked: it must not collide with generated paths.
   * @throws TypeError when the router has another group or version.
   */
  add(router: RouterFunction): this {
    if (typeof router !== 'function') throw new TypeError('add takes a router, or a function of the request');
    const definition = definitionOf(router);
    if (definition === undefined) return this.#addAll([{ kind: 'function', segments: [], find: router }], []);
    const { groupVersion, entries } = definition;
    if (groupVersion !== undefined && groupVersion !== this.#groupVersion)
      throw new TypeError(
        `a router of ${groupVersion} cannot be a part of a router of ${this.#groupVersion ?? 'no group'}`,
      );
    return this.#addAll(entries, []);
  }

  filter(filter: FilterFunction): this {
    this.#filters.push(filter);
    return this;
  }

  before(change: BeforeFunction): this {
    return this.filter(beforeFilter(change));
  }

  after(change: AfterFunction): this {
    return this.filter(afterFilter(change));
  }

  /**
   * Adds a handler for errors of the routes: for all errors, or for those that a function selects. The handler does not
   * receive errors that a predicate or a router function throws.
   */
  onError(answer: ErrorFunction): this;
  onError(handles: (error: unknown) => boolean, answer: ErrorFunction): this;
  onError(...args: [ErrorFunction] | [(error: unknown) => boolean, ErrorFunction]): this {
    if (args.length === 1) return this.filter(errorFilter(() => true, args[0]));
    return this.filter(errorFilter(...args));
  }

  /** Returns the router. Routes that are added to the builder later do not become a part of it. */
  build(): RouterFunction {
    const groupVersion = this.#groupVersion;
    const entries = Object.freeze(this.#wrapped());
    return createRouter({ groupVersion, entries }, createFind(groupVersion, entries));
  }

  #route(method: RouteMethod, path: string, rest: RouteArguments): this {
    const [predicate, handler, options = {}] = hasPredicate(rest) ? rest : [undefined, ...rest];
    if (typeof handler !== 'function') throw new TypeError(`${method} ${path} has no handler`);
    if (predicate !== undefined && typeof predicate.mismatch !== 'function')
      throw new TypeError(
        `the predicate of ${method} ${path} is not valid: make it with accept, contentType or predicate`,
      );
    checkDeadline(`${method} ${path}`, options);
    const entry: RouterEntry = {
      kind: 'route',
      method,
      segments: parsePattern(path),
      predicate,
      handler,
      options: Object.freeze({ ...options }),
    };
    return this.#addAll([entry], []);
  }

  #addAll(entries: readonly RouterEntry[], prefix: readonly PatternSegment[]): this {
    for (const entry of entries) {
      const segments = Object.freeze([...prefix, ...entry.segments]);
      checkVariables(segments);
      this.#entries.push(Object.freeze({ ...entry, segments }));
    }
    return this;
  }

  #wrapped(): RouterEntry[] {
    const filters = [...this.#filters];
    return filters.length === 0 ? [...this.#entries] : this.#entries.map((entry) => wrapEntry(entry, filters));
  }
}

function hasPredicate(
  rest: RouteArguments,
): rest is Extract<RouteArguments, readonly [RequestPredicate, ...unknown[]]> {
  return typeof rest[0] !== 'function';
}

/** The longest time that a timer of Node can wait. */
const maxDeadlineMs = 2 ** 31 - 1;

/**
 * Checks the deadline of a route. @throws RangeError for a deadline that is not a number of milliseconds above 0, or is
 * longer than 2³¹ − 1 ms (24.8 days). `where` is the name of the route in the message.
 */
export function checkDeadline(where: string, { deadlineMs = 1 }: RouteOptions): void {
  const isTime = typeof deadlineMs === 'number' && deadlineMs > 0 && deadlineMs <= maxDeadlineMs;
  if (!isTime) throw new RangeError(`deadlineMs of ${where} must be above 0 and at most ${maxDeadlineMs} milliseconds`);
}

function wrapEntry(entry: RouterEntry, filters: readonly FilterFunction[]): RouterEntry {
  if (entry.kind === 'route') return Object.freeze({ ...entry, handler: withFilters(entry.handler, filters) });
  const find: RouterFunction = (request) => {
    const handler = entry.find(request);
    return handler === undefined ? undefined : withFilters(handler, filters);
  };
  return Object.freeze({ ...entry, find });
}

/**
 * Returns a function that finds the handler of a request among the entries of a router; it returns undefined when no
 * entry matches. An author can call this function to compose routers.
 */
function createFind(groupVersion: string | undefined, definitions: readonly RouterEntry[]): RouterFunction {
  const entries = definitions.map((definition) => ({ definition }));
  return (request: ServerRequest) => {
    const segments = splitPath(request.path);
    if (segments?.[0] !== 'apis' || segments.length < mountLength) return undefined;
    if (groupVersion !== undefined && `${segments[1]}/${segments[2]}` !== groupVersion) return undefined;
    const found = findRoute(entries, { request, method: request.method, segments, offset: mountLength });
    if (found?.kind === 'failed') throw found.error;
    if (found?.kind !== 'found') return undefined;
    const { handler, request: matched } = found;
    return (handled) => handler(handled.withPathVariables(matched.pathVariables));
  };
}
