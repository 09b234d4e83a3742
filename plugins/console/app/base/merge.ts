import { isEqual, isObject } from './json.ts';
import type { Json, JsonObject, Path } from './json.ts';

/** A field that two people changed in different ways. Undefined means an absent field. */
export interface MergeConflict {
  readonly path: Path;
  readonly base: Json | undefined;
  readonly mine: Json | undefined;
  readonly theirs: Json | undefined;
}

export interface Merged {
  /** The value with the changes of both sides; where they conflict, with the change of this user. */
  readonly value: Json | undefined;
  readonly conflicts: readonly MergeConflict[];
  /** The paths that other users changed and this user did not change. `value` contains the others' changes. */
  readonly taken: readonly Path[];
}

interface Sides {
  readonly base: Json | undefined;
  readonly mine: Json | undefined;
  readonly theirs: Json | undefined;
}

/** Merges two changes of one value. Objects are merged field by field; an array counts as one value. */
export function mergeChanges(sides: Sides, path: Path = []): Merged {
  const { base, mine, theirs } = sides;
  if (isEqual(mine, theirs) || isEqual(base, theirs)) return { value: mine, conflicts: [], taken: [] };
  if (isEqual(base, mine)) return { value: theirs, conflicts: [], taken: [path] };
  if (isObject(mine) && isObject(theirs)) return mergeObjects({ base: isObject(base) ? base : {}, mine, theirs }, path);
  return { value: mine, conflicts: [{ path, base, mine, theirs }], taken: [] };
}

interface ObjectSides {
  readonly base: JsonObject;
  readonly mine: JsonObject;
  readonly theirs: JsonObject;
}

function mergeObjects({ base, mine, theirs }: ObjectSides, path: Path): Merged {
  const conflicts: MergeConflict[] = [];
  const taken: Path[] = [];
  const fields: [string, Json][] = [];
  for (const key of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
    const merged = mergeChanges({ base: base[key], mine: mine[key], theirs: theirs[key] }, [...path, key]);
    conflicts.push(...merged.conflicts);
    taken.push(...merged.taken);
    if (merged.value !== undefined) fields.push([key, merged.value]);
  }
  return { value: Object.fromEntries(fields), conflicts, taken };
}
