import type { ApiObject } from './object.ts';

type Scalar = string | number | boolean;

// Every path below a field of type `unknown` is allowed; registration checks what the compiler cannot check.
type PathFrom<K extends string, V, Depth extends 1[]> = unknown extends V
  ? K | `${K}.${string}`
  : V extends Scalar
    ? K
    : V extends readonly (infer U)[]
      ? PathFrom<K, NonNullable<U>, Depth>
      : V extends object
        ? `${K}.${PathsOf<V, [...Depth, 1]>}`
        : never;

// Models may contain themselves, so paths end at eight levels.
type PathsOf<T, Depth extends 1[]> = Depth['length'] extends 8
  ? string
  : { [K in keyof T & string]-?: PathFrom<K, NonNullable<T[K]>, Depth> }[keyof T & string];

type Declared<T> = Omit<T, keyof ApiObject>;

/**
 * Paths such as `spec.age` to fields that an index can be on: scalars, which may be within arrays. When T declares no
 * fields, any string is allowed.
 */
export type FieldPath<T extends ApiObject> = [keyof Declared<T>] extends [never] ? string : PathsOf<Declared<T>, []>;
