import { isArray, isEqual, isObject } from './json.ts';
import type { Json, Path } from './json.ts';

/** One field that differs. Undefined means an absent field. */
export interface Difference {
  readonly path: Path;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** Returns the smallest fields in which two values differ; arrays of different lengths count as one field. */
export function differences(before: Json | undefined, after: Json | undefined, path: Path = []): readonly Difference[] {
  if (isEqual(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => differences(before[key], after[key], [...path, key]));
  }
  if (isArray(before) && isArray(after) && before.length === after.length)
    return before.flatMap((item, index) => differences(item, after[index], [...path, index]));
  return [{ path, before, after }];
}
