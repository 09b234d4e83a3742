import { apiVersionOf } from '../../api/index.ts';

/** Returns the group of an apiVersion; the empty text for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/** Returns `<group>/<kind>`, which identifies a kind in all its versions. Owner references are compared by this id. */
export function kindIdOf(model: { readonly group: string; readonly kind: string }): string {
  return `${model.group}/${model.kind}`;
}

/** Returns the {@link kindIdOf} of an object, or of a reference to an object. */
export function kindIdOfObject(object: { readonly apiVersion: string; readonly kind: string }): string {
  return `${groupOf(object.apiVersion)}/${object.kind}`;
}

/**
 * Returns `<group>/<version>/<kind>`, which identifies a cache. Two versions of a kind have two caches, because their
 * objects have different shapes.
 */
export function cacheIdOf(model: { readonly group: string; readonly version: string; readonly kind: string }): string {
  return cacheIdOfObject({ apiVersion: apiVersionOf(model), kind: model.kind });
}

/** Returns the {@link cacheIdOf} of an object. */
export function cacheIdOfObject({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion}/${kind}`;
}
