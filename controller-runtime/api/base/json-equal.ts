import { isJsonObject, type JsonObject } from './json-object.ts';

/**
 * Returns true for equal JSON values. The order of an object's keys does not matter. The function is recursive, so the
 * stack limits the depth.
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
  // The keys are counted without a list of them, because a list would need memory for each object.
  let count = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || !deepEqual(a[key], b[key])) return false;
    count += 1;
  }
  for (const _ in b) count -= 1;
  return count === 0;
}
