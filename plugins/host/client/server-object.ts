import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';

/** An object of any kind, as the server sends it. */
export interface ServerObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ServerObjectMeta;
}

interface ServerObjectMeta extends JsonObject {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
}

/** True for a JSON object that has apiVersion, kind and metadata. */
export function isGivenObject(value: unknown): value is GivenObject {
  return (
    isJsonObject(value) &&
    typeof value['apiVersion'] === 'string' &&
    typeof value['kind'] === 'string' &&
    isJsonObject(value['metadata'])
  );
}

/** True for a JSON object that has apiVersion, kind, metadata and a name. */
export function isServerObject(value: unknown): value is ServerObject {
  return isGivenObject(value) && typeof value.metadata['name'] === 'string';
}

/** Returns a value that the server sent, as an object. @throws Error when it is not an object with a kind and a name */
export function serverObject(value: unknown): ServerObject {
  if (isServerObject(value)) return value;
  throw new Error('the server sent a value that is not an object with apiVersion, kind and metadata.name');
}

/** Returns the object without `metadata.managedFields`, which people do not read. */
export function withoutManagedFields(object: ServerObject): ServerObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Returns a JSON value whose objects have their keys in alphabetical order, as kubectl prints them. */
export function withSortedKeys(value: JsonObject): JsonObject;
export function withSortedKeys(value: unknown): unknown;
export function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, withSortedKeys(value[key])]),
  );
}

/** An object that was read from a file. It may have no name. */
export interface GivenObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: JsonObject;
}

/** Returns the string, number or boolean at the end of the path `keys` as a string; '' if there is none. */
export function textAt(value: unknown, ...keys: readonly string[]): string {
  const found = valueAt(value, ...keys);
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean' ? String(found) : '';
}

/** Returns the objects of the list at the end of the path `keys`; none where there is no list. */
export function objectsAt(value: unknown, ...keys: readonly string[]): readonly JsonObject[] {
  const found = valueAt(value, ...keys);
  return Array.isArray(found) ? found.filter(isJsonObject) : [];
}

/** Returns the value at the end of the path `keys`; undefined where there is none. */
export function valueAt(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>((at, key) => (isJsonObject(at) ? at[key] : undefined), value);
}
