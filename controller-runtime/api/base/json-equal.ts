import { isJsonObject, type JsonObject } from './json-object.ts';

/**
 * True for JSON values that mean the same; the order of an object's keys does not count. Recursive: the stack limits
 * the depth.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && equalArrays(a, b);
  return isJsonObject(a) && isJsonObject(b) && equalObjects(a, b);
}

function equalArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) {
    if (!deepEqual(a[index], b[index])) return false;
  }
  return true;
}

function equalObjects(a: JsonObject, b: JsonObject): boolean {
  // Counts keys instead of listing them, since lists would be allocated for each object.
  let count = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || !deepEqual(a[key], b[key])) return false;
    count += 1;
  }
  for (const _ in b) count -= 1;
  return count === 0;
}
