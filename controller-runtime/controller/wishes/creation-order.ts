import { formatKey, keyOf, type ApiObject, type ObjectKey } from '../../api/index.ts';
import { groupOf } from '../definition/kind-id.ts';

/**
 * Returns the name of the annotation that lists the objects after which the annotated object was created. The
 * controller deletes the annotated object before the listed objects, even after a restart of its process. `manager` is
 * `<group>/<controller>`, or only the controller for a kind of the core group.
 */
export function orderAnnotation(manager: string): string {
  return `created-after${manager.includes('/') ? '.' : '/'}${manager}`;
}

/** Returns the id of an object, `<Kind>.<group>/<key>`; without the group for kinds of the core group. */
export function orderIdOf({ group, kind }: { readonly group: string; readonly kind: string }, key: ObjectKey): string {
  return `${kind}${group === '' ? '' : `.${group}`}/${formatKey(key)}`;
}

/** Returns the id of a stored object: `<Kind>.<group>/<key>`, or `<Kind>/<key>` for kinds of the core group. */
export function orderIdOfObject(object: ApiObject): string {
  return orderIdOf({ group: groupOf(object.apiVersion), kind: object.kind }, keyOf(object));
}

/** Returns the value of the annotation {@link orderAnnotation}: the given ids, separated by commas. */
export function formatOrder(ids: readonly string[]): string {
  return ids.join(',');
}

/**
 * Returns the ids of the objects after which an object was created, from its annotation {@link orderAnnotation}; an
 * empty list without the annotation.
 */
export function createdAfter({ metadata }: ApiObject, manager: string): readonly string[] {
  return metadata.annotations?.[orderAnnotation(manager)]?.split(',') ?? [];
}
