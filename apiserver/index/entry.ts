import type { PropagationPolicy } from './propagation.ts';

/** The values of one object in one index: a list, or the value itself when there is only one. */
export type IndexValue = string | readonly string[];

/** The values of one object in each index of its kind. They are encoded, distinct, and in the order of code points. */
export type IndexValues = readonly IndexValue[];

const noValues: readonly string[] = Object.freeze([]);

/** Returns the values as a list, which is empty when `value` is undefined. */
export function valueList(value: IndexValue = noValues): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}

/** One owner of an object, with the data about this owner that the server can read without parsing the object. */
export interface KnownOwner {
  readonly uid: string;
  /** True when this owner, if it is deleted in the foreground, waits for the object. */
  readonly blocks: boolean;
}

/**
 * One stored object at one revision. The content of an entry never changes, because a write replaces the entry. So an
 * array of entries is a consistent snapshot.
 */
export interface Entry {
  /** The key in the kind: `name`, or `namespace/name`. */
  readonly key: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  /** The revision of the object's last change; its resourceVersion. */
  readonly revision: number;
  /** The object as clients receive it. Each access to this property may create a Buffer, which remains valid. */
  readonly bytes: Buffer;
  /** The length of {@link bytes}. */
  readonly size: number;
  readonly values: IndexValues;
  /** The owners in the object's ownerReferences; undefined when it has none. */
  readonly owners: readonly KnownOwner[] | undefined;
  /** The propagation policy for the object's dependents; undefined until the object is marked for deletion. */
  readonly deletion: PropagationPolicy | undefined;
}
