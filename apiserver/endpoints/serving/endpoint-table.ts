import type { Logger } from '@homeostat/controller-runtime/api';
import { bodyCheck } from './body-schema.ts';
import { readController } from '../routes/controller-routes.ts';
import type { Controller } from '../routes/controller-routes.ts';
import { EndpointOwner } from './endpoint-owner.ts';
import type { EndpointOwnerOptions } from './endpoint-owner.ts';
import type { EndpointRoute } from './endpoint-route.ts';
import { findRoute } from '../routes/find-route.ts';
import type { RouteResult } from '../routes/find-route.ts';
import { checkGroup, checkVersion, parseGroupVersion } from './group-rules.ts';
import type { GroupRules } from './group-rules.ts';
import { HttpRequest } from './http-request.ts';
import { collidesWith, Mount, mountEntry, routeKey } from './mount.ts';
import type { GeneratedKind, MountedEntry } from './mount.ts';
import type { PatternSegment } from '../routes/path-pattern.ts';
import type { RequestSource } from './request-source.ts';
import { checkPermission, endpointSegments, neededPermissions } from './route-permissions.ts';
import type { NeededPermission } from './route-permissions.ts';
import { definitionOf } from '../routes/router.ts';
import type { RouterEntry, RouterFunction } from '../routes/router.ts';

/** A router that `route(…)…build()` returned, a class with `@RestController`, or an instance of such a class. */
export type Endpoint = RouterFunction | (new () => object) | object;

export interface EndpointTableParts {
  readonly serviceDomain: string;
  /** Returns the registered kinds. */
  readonly kinds: () => readonly GeneratedKind[];
  readonly logger: Logger;
}

/** The endpoints of one plugin. Until they are opened, requests to them receive a 503. */
export interface OwnedEndpoints {
  /**
   * Adds a router, a controller class, or an instance of a controller class. A controller class without `@ApiVersion`
   * is ignored, with a warning.
   * @throws Error when the value is none of these, when its group is reserved or belongs to another plugin, when the
   * body schema or the permission of a route is invalid, or when one of its paths already belongs to a kind or to
   * another plugin's route. After an error, no route of the endpoint is added.
   */
  add(endpoint: Endpoint): void;
  /** Starts to handle requests. */
  open(): void;
  /** Removes all endpoints. Their paths then return 404, the signals of their requests abort, and their streams end. */
  close(): void;
}

/** The endpoints of plugins. */
export interface Endpoints {
  /**
   * Returns the interface with which a plugin adds endpoints. @throws Error if an earlier call returned an
   * interface for the same name, and its `close` has not been called.
   */
  forOwner(name: string, options?: EndpointOwnerOptions): OwnedEndpoints;
  /**
   * Returns all routes with a declared method and path, but no routers that are plain functions, because these declare
   * neither. The routes are grouped by group and version, and are in the order of registration within each version.
   * Returns the same array until a route is added or removed.
   */
  routes(): readonly EndpointRoute[];
}

/** The routes and router functions of one endpoint, and the group and version under which they are served. */
interface Placed {
  readonly groupVersion: string;
  readonly entries: readonly RouterEntry[];
}

/** Keeps the endpoints of each plugin (specification, section 4.3), and finds the route for a request. */
export class EndpointTable implements Endpoints {
  /** True while no plugin has endpoints. Only this class changes it. */
  isEmpty = true;
  readonly #parts: EndpointTableParts;
  readonly #mounts = new Map<string, Mount>();
  readonly #owners = new Map<string, EndpointOwner>();
  #routes: readonly EndpointRoute[] | undefined;

  constructor(parts: EndpointTableParts) {
    this.#parts = parts;
  }

  forOwner(name: string, options: EndpointOwnerOptions = {}): OwnedEndpoints {
    if (this.#owners.has(name)) throw new Error(`the plugin "${name}" has endpoints already`);
    const owner = new EndpointOwner(name, options);
    this.#owners.set(name, owner);
    return Object.freeze<OwnedEndpoints>({
      add: (endpoint) => this.#add(owner, endpoint),
      open: () => {
        owner.isOpen = true;
      },
      close: () => this.#remove(owner),
    });
  }

  routes(): readonly EndpointRoute[] {
    this.#routes ??= Object.freeze([...this.#mounts.values()].flatMap(({ entries }) => entries.flatMap(describe)));
    return this.#routes;
  }

  /**
   * Checks that the generated paths of a kind collide with no endpoint. @throws Error that names the kind and the
   * endpoint.
   */
  checkKind(kind: GeneratedKind): void {
    const taken = this.#mounts.get(mountKey(kind))?.entries.find((entry) => collidesWith(entry, kind));
    if (taken !== undefined) throw collision(taken, kind);
  }

  /**
   * Finds the route of a request; returns undefined when no plugin owns its path. @throws ApiError BadRequest for a
   * path that is not well encoded.
   */
  find(method: string, source: RequestSource): RouteResult<MountedEntry> | undefined {
    const candidates = this.#candidates(source.path);
    if (candidates === undefined) return undefined;
    const { entries, segments } = candidates;
    return findRoute(entries, { request: new HttpRequest(source), method, segments, offset: mountLength });
  }

  /**
   * Returns the permissions that a request needs; undefined when no plugin owns its path. Calls no code of the plugin.
   * @throws as `find`
   */
  permissionsFor(method: string, path: string): readonly NeededPermission[] | undefined {
    const candidates = this.#candidates(path);
    return candidates && neededPermissions(candidates.entries, method, candidates.segments);
  }

  /** Ends all streamed responses; called when the server stops. */
  stopStreams(reason: Error): void {
    for (const owner of this.#owners.values()) owner.stopStreams(reason);
  }

  #candidates(
    path: string,
  ): { readonly entries: readonly MountedEntry[]; readonly segments: readonly string[] } | undefined {
    if (this.isEmpty) return undefined;
    const segments = endpointSegments(path);
    const mount = segments && this.#mounts.get(`${segments[1]}/${segments[2]}`);
    return mount && { entries: mount.candidates(segments.length - mountLength), segments };
  }

  /** Adds all routes of an endpoint, or none when one of them is wrong. */
  #add(owner: EndpointOwner, endpoint: unknown): void {
    if (this.#owners.get(owner.name) !== owner) throw new Error(`the endpoints of "${owner.name}" have been removed`);
    const placed = this.#place(owner, endpoint);
    if (placed === undefined) return;
    const { groupVersion, entries } = placed;
    const mounted = entries.map((entry) => mountEntry(groupVersion, owner, entry));
    for (const entry of mounted) this.#check(groupVersion, entry);
    const mount = this.#mounts.get(groupVersion) ?? new Mount(groupVersion);
    mount.entries = [...mount.entries, ...mounted];
    this.#mounts.set(groupVersion, mount);
    this.isEmpty = false;
    this.#routes = undefined;
  }

  #place(owner: EndpointOwner, endpoint: unknown): Placed | undefined {
    const router = definitionOf(endpoint);
    if (router === undefined) return this.#placeController(owner, endpoint);
    if (owner.revision === '2.9')
      throw new Error('revision 2.9 has no routers: declare endpoints by a controller class with @ApiVersion');
    if (router.groupVersion === undefined)
      throw new Error("a router needs a group and a version: begin it with route('<group>/<version>')");
    const groupVersion = this.#checkedGroupVersion(owner, 'the router', router.groupVersion);
    return { groupVersion, entries: router.entries };
  }

  #placeController(owner: EndpointOwner, endpoint: unknown): Placed | undefined {
    const controller = readController(endpoint);
    if (controller === undefined) throw new TypeError(describeStranger(endpoint));
    const { className, apiVersion } = controller;
    if (apiVersion === undefined) {
      const message = `the controller class ${className} of plugin "${owner.name}" has no @ApiVersion and is ignored`;
      this.#parts.logger.warn({ plugin: owner.name, controller: className }, message);
      return undefined;
    }
    if (owner.revision === '2.9') return this.#placeBelowPlugin(owner, controller, apiVersion);
    const groupVersion = this.#checkedGroupVersion(owner, `@ApiVersion of ${className}`, apiVersion);
    return { groupVersion, entries: controller.routes() };
  }

  /**
   * Returns the entries of a controller with their paths in revision 2.9: `/apis/plugin.api.<service
   * domain>/<version>/plugins/<plugin>/…`.
   */
  #placeBelowPlugin(owner: EndpointOwner, controller: Controller, apiVersion: string): Placed {
    const version = named(`@ApiVersion of ${controller.className}`, () => checkVersion(apiVersion));
    const prefix: readonly PatternSegment[] = [
      { kind: 'literal', text: 'plugins' },
      { kind: 'literal', text: owner.name },
    ];
    const entries = controller
      .routes()
      .map((entry) => Object.freeze({ ...entry, segments: Object.freeze([...prefix, ...entry.segments]) }));
    return { groupVersion: `plugin.api.${this.#parts.serviceDomain}/${version}`, entries };
  }

  #checkedGroupVersion(owner: EndpointOwner, what: string, groupVersion: string): string {
    return named(what, () => {
      const { group, version } = parseGroupVersion(groupVersion);
      checkGroup(group, {
        serviceDomain: this.#parts.serviceDomain,
        ownGroup: owner.group,
        foreign: this.#foreignGroups(owner),
      });
      return `${group}/${version}`;
    });
  }

  #foreignGroups(owner: EndpointOwner): GroupRules['foreign'] {
    const manifests = [...this.#owners.values()].flatMap(({ name, group }) =>
      group === undefined ? [] : [{ group, owner: name }],
    );
    return [...manifests, ...this.#parts.kinds()].filter((each) => each.owner !== owner.name && each.group !== '');
  }

  #check(groupVersion: string, entry: MountedEntry): void {
    const { definition, owner, label } = entry;
    if (definition.kind === 'route') {
      if (definition.segments.length === 0) throw new Error(`${label} is the path of discovery: use a longer path`);
      checkBody(entry);
      checkPermission(label, entry);
    }
    const kind = this.#parts.kinds().find((each) => mountKey(each) === groupVersion && collidesWith(entry, each));
    if (kind !== undefined) throw collision(entry, kind);
    const key = routeKey(entry);
    const twin = this.#mounts
      .get(groupVersion)
      ?.entries.find((other) => other.owner !== owner && key !== undefined && routeKey(other) === key);
    if (twin !== undefined)
      throw new Error(`${label} of "${owner.name}" is taken: "${twin.owner.name}" has ${twin.label}`);
  }

  #remove(owner: EndpointOwner): void {
    if (this.#owners.get(owner.name) !== owner) return;
    this.#owners.delete(owner.name);
    for (const [groupVersion, mount] of this.#mounts) {
      const left = mount.entries.filter((entry) => entry.owner !== owner);
      if (left.length === 0) this.#mounts.delete(groupVersion);
      else if (left.length < mount.entries.length) mount.entries = left;
    }
    this.isEmpty = this.#mounts.size === 0;
    this.#routes = undefined;
    owner.stopAll(new Error(`the plugin "${owner.name}" has been stopped`));
  }
}

/** The number of segments of `/apis/<group>/<version>`, which precede the path of each route. */
const mountLength = 3;

function mountKey({ group, version }: { readonly group: string; readonly version: string }): string {
  return `${group}/${version}`;
}

function describe({ definition, path, owner }: MountedEntry): readonly EndpointRoute[] {
  if (definition.kind === 'function') return [];
  const { summary, body, query, response } = definition.options;
  return [
    Object.freeze({
      method: definition.method,
      path,
      owner: owner.name,
      ...(summary === undefined ? {} : { summary }),
      ...(body === undefined ? {} : { body }),
      ...(query === undefined ? {} : { query }),
      ...(response === undefined ? {} : { response }),
    }),
  ];
}

/** Prepares the check of a body, so that a mistake in its schema is reported now, and not at the first request. */
function checkBody({ definition, label }: MountedEntry): void {
  if (definition.kind !== 'route' || definition.options.body === undefined) return;
  const { body } = definition.options;
  named(`the schema of the body of ${label}`, () => bodyCheck(body));
}

function collision(entry: MountedEntry, kind: GeneratedKind): Error {
  const generated = `/apis/${mountKey(kind)}/${kind.plural}`;
  return new Error(
    `${entry.label} of "${entry.owner.name}" collides with the generated path ${generated} of ${kind.kind} of "${kind.owner}": use another group, such as api.${kind.group}`,
  );
}

function describeStranger(value: unknown): string {
  if (typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value)))
    return "one endpoint is a bare function, without group and version: build a router with route('<group>/<version>')";
  const name = typeof value === 'function' ? `the class ${value.name}` : 'an endpoint';
  return `${name} is neither a router nor a controller: a router is what build() returns, a controller has @RestController and @ApiVersion`;
}

function named<T>(what: string, check: () => T): T {
  try {
    return check();
  } catch (cause) {
    throw new Error(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
