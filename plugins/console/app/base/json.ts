/** A value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** The path to a part of a value: names of fields, and indexes of arrays. */
export type Path = readonly (string | number)[];

/** True for an object that is neither null nor an array. The value must come from JSON or YAML. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for an array of JSON values. */
export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** True for equal values; the order of fields does not count, and an absent field equals an undefined one. */
export function isEqual(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (isArray(left) && isArray(right))
    return left.length === right.length && left.every((item, index) => isEqual(item, right[index]));
  if (!isObject(left) || !isObject(right)) return false;
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].every((key) => isEqual(left[key], right[key]));
}

/** Returns the value at a path; undefined when there is none. */
export function valueAt(value: Json | undefined, path: Path): Json | undefined {
  let found = value;
  for (const step of path) {
    if (isArray(found) && typeof step === 'number') found = found[step];
    else if (isObject(found) && Object.hasOwn(found, step)) found = found[step];
    else return undefined;
  }
  return found;
}

/**
 * Returns a copy with another value at a path; undefined removes the field or the item. Creates the objects and arrays
 * on the path if they are absent.
 */
export function withValueAt(root: Json | undefined, path: Path, value: Json | undefined): Json | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const items = isArray(root) ? [...root] : [];
    const next = withValueAt(items[step], rest, value);
    if (next === undefined) items.splice(step, 1);
    else items[step] = next;
    return items;
  }
  const { [step]: old, ...others } = isObject(root) ? root : {};
  const next = withValueAt(old, rest, value);
  if (next === undefined) return others;
  // An existing field keeps its position among the fields.
  return isObject(root) && Object.hasOwn(root, step) ? { ...root, [step]: next } : { ...others, [step]: next };
}

/** Returns a text unchanged, and an empty text for any other value. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns a number unchanged, and 0 for any other value. */
export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Returns a value as text: a text unchanged, any other value as JSON. */
export function shownAs(value: Json | undefined): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Returns a path as the server writes it, such as `spec.items[0].name`; unusual names are in brackets. */
export function formatPath(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^[\w-]+$/.test(step)) return `[${step}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}
