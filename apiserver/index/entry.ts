import type { PropagationPolicy } from './propagation.ts';

/** Values of one object in one index: a list, or the value itself when there is only one. */
export type IndexValue = string | readonly string[];

/** Index values of one object, for each index of its kind: encoded, distinct, in code point order. */
export type IndexValues = readonly IndexValue[];

const noValues: readonly string[] = Object.freeze([]);

/** Returns the values as a list, which is empty by default. */
export function valueList(value: IndexValue = noValues): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}

/** One owner of an object, with the data that needs no parsing of the object. */
export interface KnownOwner {
  readonly uid: string;
  /** True when the owner, deleted in the foreground, waits for this object. */
  readonly blocks: boolean;
}

/**
 * One stored object at one revision. It is never modified, only replaced: an array of entries is a consistent snapshot.
 */
export interface Entry {
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  /** The revision of the object's last change; its resourceVersion. */
  readonly revision: number;
  /** The object as clients receive it. Each read makes a Buffer; it stays valid. */
  readonly bytes: Buffer;
  /** The number of {@link bytes}. */
  readonly size: number;
  readonly values: IndexValues;
  /** The owners in its ownerReferences; undefined when it has none. */
  readonly owners: readonly KnownOwner[] | undefined;
  /** The policy for its dependents once it is marked for deletion; undefined before. */
  readonly deletion: PropagationPolicy | undefined;
}
