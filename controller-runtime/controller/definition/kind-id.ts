import { apiVersionOf } from '../../api/index.ts';

/** The group of an apiVersion; empty for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/** `<group>/<kind>`: names a kind whatever its version, as owner references are matched. */
export function kindIdOf(model: { readonly group: string; readonly kind: string }): string {
  return `${model.group}/${model.kind}`;
}

/** The {@link kindIdOf} that an object, or a reference to one, belongs to. */
export function kindIdOfObject(object: { readonly apiVersion: string; readonly kind: string }): string {
  return `${groupOf(object.apiVersion)}/${object.kind}`;
}

/**
 * `<group>/<version>/<kind>`: names a cache. Two versions of a kind have two caches, because their objects have
 * different shapes.
 */
export function cacheIdOf(model: { readonly group: string; readonly version: string; readonly kind: string }): string {
  return cacheIdOfObject({ apiVersion: apiVersionOf(model), kind: model.kind });
}

/** The {@link cacheIdOf} that an object belongs to. */
export function cacheIdOfObject({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion}/${kind}`;
}
