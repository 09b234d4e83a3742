import { matchesPattern, splitPath, variablesOf } from '../routes/path-pattern.ts';
import type { RoutePermission } from '../routes/router.ts';
import type { MountedEntry } from './mount.ts';

/** The permission that a request to an endpoint needs: for its path, or on a resource. */
export type NeededPermission =
  | { readonly path: string }
  | {
      readonly verb: string;
      readonly group: string;
      readonly version: string;
      readonly resource: string;
      readonly subresource: string | undefined;
      readonly namespace: string | undefined;
      readonly name: string | undefined;
    };

/** The number of segments of `/apis/<group>/<version>`, which precede the path of each route. */
const mountLength = 3;

/**
 * Returns the permissions that a request needs if one of these entries handles it; undefined when no entry matches the
 * path. It does not call the plugin's code, so it does not know which routes match by their predicates. If several
 * entries may handle the request, the request needs the permissions of all of them.
 */
export function neededPermissions(
  entries: readonly MountedEntry[],
  method: string,
  segments: readonly string[],
): readonly NeededPermission[] | undefined {
  const needed: NeededPermission[] = [];
  let isEndpoint = false;
  for (const { definition } of entries) {
    if (!matchesPattern(definition.segments, segments, mountLength)) continue;
    isEndpoint = true;
    if (definition.kind === 'function') {
      needed.push(forPath(segments));
      continue;
    }
    if (definition.method !== method && !(method === 'HEAD' && definition.method === 'GET')) continue;
    const { permission } = definition.options;
    const variables = variablesOf(definition.segments, segments, mountLength);
    needed.push(permission === undefined ? forPath(segments) : onResource(permission, segments, variables));
    if (definition.predicate === undefined) break;
  }
  if (!isEndpoint) return undefined;
  return needed.length === 0 ? [forPath(segments)] : needed;
}

/**
 * Returns the permission for a path. The path is decoded, because paths in rules are not encoded. An encoded slash
 * remains encoded, since it does not separate segments.
 */
function forPath(segments: readonly string[]): NeededPermission {
  return { path: `/${segments.map((segment) => segment.replaceAll('/', '%2F')).join('/')}` };
}

function onResource(
  { verb, group, resource, nameFrom, namespaceFrom }: RoutePermission,
  [, ownGroup = '', version = '']: readonly string[],
  variables: Readonly<Record<string, string>>,
): NeededPermission {
  const [plural = '', subresource] = resource.split('/');
  const valueOf = (name: string | undefined): string | undefined => (name === undefined ? undefined : variables[name]);
  const place = { namespace: valueOf(namespaceFrom), name: valueOf(nameFrom) };
  return { verb, group: group ?? ownGroup, version, resource: plural, subresource, ...place };
}

/**
 * Checks the permission in the options of a route. `where` is the name of the route in messages. @throws TypeError for
 * an invalid permission
 */
export function checkPermission(where: string, { definition }: MountedEntry): void {
  if (definition.kind !== 'route' || definition.options.permission === undefined) return;
  const { verb, resource, nameFrom, namespaceFrom } = definition.options.permission;
  if (typeof verb !== 'string' || !/^[a-z]+$/.test(verb))
    throw new TypeError(`permission.verb of ${where} must be a verb in lower case, such as "get"`);
  if (typeof resource !== 'string' || !/^[a-z0-9-]+(\/[a-z0-9-]+)?$/.test(resource))
    throw new TypeError(`permission.resource of ${where} must be <plural>[/<subresource>], such as "persons"`);
  const names = definition.segments.flatMap((segment) => (segment.kind === 'variable' ? [segment.name] : []));
  for (const [key, name] of Object.entries({ nameFrom, namespaceFrom })) {
    if (name !== undefined && !names.includes(name))
      throw new TypeError(`permission.${key} of ${where}: the path has no variable "${name}"`);
  }
}

/**
 * Returns the segments of a path below `/apis/<group>/<version>`, which may be the path of an endpoint; undefined for
 * any other path. @throws ApiError BadRequest for a path that is not well encoded.
 */
export function endpointSegments(path: string): readonly string[] | undefined {
  if (!path.startsWith('/apis/')) return undefined;
  const segments = splitPath(path);
  return segments === undefined || segments.length <= mountLength ? undefined : segments;
}
