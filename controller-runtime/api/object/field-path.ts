import type { ApiObject } from './object.ts';

type Scalar = string | number | boolean;

// The compiler allows every path below a field of type `unknown`; `defineModel` checks such a path by the schema.
type PathFrom<K extends string, V, Depth extends 1[]> = unknown extends V
  ? K | `${K}.${string}`
  : V extends Scalar
    ? K
    : V extends readonly (infer U)[]
      ? PathFrom<K, NonNullable<U>, Depth>
      : V extends object
        ? `${K}.${PathsOf<V, [...Depth, 1]>}`
        : never;

// The type of a model may contain itself, so the compiler checks only the first eight levels of a path, and allows
// every text below.
type PathsOf<T, Depth extends 1[]> = Depth['length'] extends 8
  ? string
  : { [K in keyof T & string]-?: PathFrom<K, NonNullable<T[K]>, Depth> }[keyof T & string];

type Declared<T> = Omit<T, keyof ApiObject>;

/**
 * The paths, such as `spec.age`, of the fields that an index can have: scalars, also those inside of arrays. When T
 * declares no fields, any string is allowed.
 */
export type FieldPath<T extends ApiObject> = [keyof Declared<T>] extends [never] ? string : PathsOf<Declared<T>, []>;
