import { deepEqual, type ApiObject } from '../../api/index.ts';

/**
 * A change of an object. An update has the states before and after. An update whose two states have the same
 * resourceVersion is a resync.
 */
export type ObjectChange<T extends ApiObject = ApiObject> =
  | { readonly type: 'ADDED' | 'DELETED'; readonly object: T; readonly previous?: undefined }
  | { readonly type: 'MODIFIED'; readonly object: T; readonly previous: T };

/**
 * A function that returns true for a change that should cause a run. The predicates of this module that compare fields
 * are true for all additions and deletions.
 */
export type Predicate<T extends ApiObject = ApiObject> = { matches(change: ObjectChange<T>): boolean }['matches'];

/** True when a field outside of metadata and status has changed, or when the deletion of the object has begun. */
export const generationChanged: Predicate = byField((object) => object.metadata.generation);
export const labelsChanged: Predicate = byField((object) => object.metadata.labels ?? {});
export const annotationsChanged: Predicate = byField((object) => object.metadata.annotations ?? {});
/** False only for a resync. */
export const resourceVersionChanged: Predicate = byField((object) => object.metadata.resourceVersion);

/** Returns a predicate that is true when all given predicates are true; `and()` is always true. */
export function and<T extends ApiObject = ApiObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.every((predicate) => predicate(change));
}

/** Returns a predicate that is true when at least one of the given predicates is true; `or()` is always false. */
export function or<T extends ApiObject = ApiObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change));
}

export function not<T extends ApiObject = ApiObject>(predicate: Predicate<T>): Predicate<T> {
  return (change) => !predicate(change);
}

function byField(fieldOf: (object: ApiObject) => unknown): Predicate {
  return ({ previous, object }) => previous === undefined || !deepEqual(fieldOf(previous), fieldOf(object));
}
