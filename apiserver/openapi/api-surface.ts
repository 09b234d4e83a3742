import { apiVersionOf, compareCodePoints } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { EndpointRoute } from '../endpoints/serving/endpoint-route.ts';

/** The API of a server: its models and endpoints. */
export interface ApiSurface {
  readonly models: readonly ModelDescriptor[];
  readonly routes: readonly EndpointRoute[];
}

/**
 * Splits a surface by group version. The keys are the paths in the index at `/openapi/v3`: `apis/<group>/<version>`,
 * `api/<version>`. The map and its parts are sorted, so that the same surface results in the same documents, whatever
 * the order of registration.
 */
export function groupVersionsOf({ models, routes }: ApiSurface): ReadonlyMap<string, ApiSurface> {
  const parts = new Map<string, { readonly models: ModelDescriptor[]; readonly routes: EndpointRoute[] }>();
  const partAt = (path: string): { readonly models: ModelDescriptor[]; readonly routes: EndpointRoute[] } => {
    const part = parts.get(path) ?? { models: [], routes: [] };
    parts.set(path, part);
    return part;
  };
  for (const model of models) partAt(pathOfModel(model)).models.push(model);
  for (const route of routes) partAt(pathOfRoute(route)).routes.push(route);
  for (const part of parts.values()) {
    part.models.sort((a, b) => compareCodePoints(a.kind, b.kind));
    part.routes.sort((a, b) => compareCodePoints(a.path, b.path) || compareCodePoints(a.method, b.method));
  }
  return new Map([...parts].sort(([a], [b]) => compareCodePoints(a, b)));
}

/**
 * Returns whether two surfaces are the same. Descriptors are compared by identity, since they are frozen, and a
 * registration keeps its descriptor. The list of routes may be a new one at each call.
 */
export function isSameSurface(before: ApiSurface, now: ApiSurface): boolean {
  const models = new Set(before.models);
  return (
    before.models.length === now.models.length &&
    now.models.every((model) => models.has(model)) &&
    before.routes.length === now.routes.length &&
    now.routes.every((route, index) => isSameRoute(route, before.routes[index]))
  );
}

function isSameRoute(a: EndpointRoute, b: EndpointRoute | undefined): boolean {
  return (
    a.method === b?.method &&
    a.path === b.path &&
    a.owner === b.owner &&
    a.summary === b.summary &&
    a.body === b.body &&
    a.query === b.query &&
    a.response === b.response
  );
}

function pathOfModel(model: ModelDescriptor): string {
  return `${model.group === '' ? 'api' : 'apis'}/${apiVersionOf(model)}`;
}

/** Returns the part `apis/<group>/<version>` of an endpoint's path `/apis/<group>/<version>/…`. */
function pathOfRoute({ path }: EndpointRoute): string {
  return path.split('/').slice(1, 4).join('/');
}
