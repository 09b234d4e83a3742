import { isJsonObject } from '../base/json-object.ts';
/**
 * Returns the target with a merge patch applied (RFC 7396). Neither the target nor the patch is changed; the result
 * shares parts with both. The key `__proto__` is treated like any other key and never changes a prototype. The function
 * is recursive, so limit the depth of values when you parse them.
 */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result: Record<string, unknown> = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    const present = Object.hasOwn(result, key) ? result[key] : undefined;
    if (value === null) delete result[key];
    else setOwn(result, key, applyMergePatch(present, value));
  }
  return result;
}

/**
 * Returns a key of a patch that is a directive of strategic merge patches (`$patch`, `$retainKeys`,
 * `$setElementOrder/…`, `$deleteFromPrimitiveList/…`), at any depth; undefined when there is none. The server refuses a
 * strategic merge patch with a directive, and applies any other as a merge patch. Other keys with a dollar sign, such
 * as `$ref` in a schema, are data.
 */
export function strategicMergeDirective(patch: unknown): string | undefined {
  const open: unknown[] = [patch];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const directive = Array.isArray(value) ? undefined : Object.keys(value).find(isDirective);
    if (directive !== undefined) return directive;
    for (const child of Object.values(value)) open.push(child);
  }
  return undefined;
}

function isDirective(key: string): boolean {
  return (
    key === '$patch' ||
    key === '$retainKeys' ||
    key.startsWith('$setElementOrder/') ||
    key.startsWith('$deleteFromPrimitiveList/')
  );
}

/**
 * Sets a member of an object. An assignment to `__proto__` would replace the prototype, so the member is defined as an
 * own property.
 */
function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
