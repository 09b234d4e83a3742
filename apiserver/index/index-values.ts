/** Values of one object in one index: a list, or the value itself when there is only one. */
export type IndexValue = string | readonly string[];

/** Index values of one object, for each index of its kind: encoded, distinct, in code point order. */
export type IndexValues = readonly IndexValue[];

const noValues: readonly string[] = Object.freeze([]);

/** The values as a list. Default: none. */
export function valueList(value: IndexValue = noValues): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}

/** One owner of an object, with what is known without reading the object. */
export interface KnownOwner {
  readonly uid: string;
  /** True when the owner, deleted in the foreground, waits for this object. */
  readonly blocks: boolean;
}
