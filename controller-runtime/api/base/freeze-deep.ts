import { isJsonObject } from './json-object.ts';

/**
 * Freezes a JSON value and everything in it, and returns the value. When a part is already frozen, the function assumes
 * that everything in it is frozen, too. So when several values share a part, it visits this part only once. It uses no
 * recursion, so only memory limits the depth.
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
