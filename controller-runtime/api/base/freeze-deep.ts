import { isJsonObject } from './json-object.ts';

/**
 * Freezes a JSON value and everything in it, and returns it. It assumes that a value that is frozen already is frozen
 * deeply, so that parts that several values share are visited only once. Works without recursion: depth is bounded by
 * memory only.
 */
export function freezeDeep<T>(value: T): T {
  const open: object[] = [];
  addContainer(open, value);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Object.isFrozen(next)) continue;
    Object.freeze(next);
    if (isJsonObject(next)) for (const name in next) addContainer(open, next[name]);
    else if (Array.isArray(next)) for (const item of next) addContainer(open, item);
  }
  return value;
}

function addContainer(open: object[], value: unknown): void {
  if (typeof value === 'object' && value !== null) open.push(value);
}
