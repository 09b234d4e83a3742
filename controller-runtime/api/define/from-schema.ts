/**
 * Flattens the fields of an object type, so that editors and messages of the compiler show the fields. Without the
 * `infer`, editors and messages would show only the name of this alias.
 */
type Flat<T> = T extends infer O ? { readonly [K in keyof O]: O[K] } : never;

type IsOptional<S, K extends keyof P, P> = P[K] extends { readonly '~optional': true }
  ? true
  : S extends { readonly '~kind': string }
    ? false
    : S extends { readonly required: readonly (infer R)[] }
      ? K extends R
        ? false
        : true
      : true;

type FromProperties<S, P> = Flat<
  { readonly [K in keyof P as IsOptional<S, K, P> extends true ? never : K]: FromSchema<P[K]> } & {
    readonly [K in keyof P as IsOptional<S, K, P> extends true ? K : never]?: FromSchema<P[K]>;
  }
>;

type FromObject<S> = S extends { readonly properties: infer P extends object }
  ? FromProperties<S, P>
  : S extends { readonly patternProperties: Readonly<Record<string, infer V>> }
    ? Readonly<Record<string, FromSchema<V>>>
    : S extends { readonly additionalProperties: infer V extends object }
      ? Readonly<Record<string, FromSchema<V>>>
      : Readonly<Record<string, unknown>>;

type FromAll<A> = A extends readonly [infer First, ...infer Rest] ? FromSchema<First> & FromAll<Rest> : unknown;

type FromType<S> = S extends { readonly type: 'string' }
  ? string
  : S extends { readonly type: 'integer' | 'number' }
    ? number
    : S extends { readonly type: 'boolean' }
      ? boolean
      : S extends { readonly type: 'null' }
        ? null
        : S extends { readonly type: 'array'; readonly items: infer I }
          ? readonly FromSchema<I>[]
          : S extends { readonly type: 'object' } | { readonly properties: object }
            ? FromObject<S>
            : unknown;

type FromNotNull<S> = S extends { readonly '~unsafe': infer U }
  ? U
  : S extends { readonly const: infer C }
    ? C
    : S extends { readonly enum: readonly (infer E)[] }
      ? E
      : S extends { readonly anyOf: readonly (infer A)[] }
        ? A extends unknown
          ? FromSchema<A>
          : never
        : S extends { readonly oneOf: readonly (infer O)[] }
          ? O extends unknown
            ? FromSchema<O>
            : never
          : S extends { readonly type: unknown }
            ? FromType<S>
            : S extends { readonly allOf: infer A }
              ? FromAll<A>
              : S extends { readonly $defs: infer D; readonly $ref: infer R extends string }
                ? R extends keyof D
                  ? FromSchema<D[R]>
                  : unknown
                : FromType<S>;

/**
 * The type of the values that a schema admits, deeply readonly like the objects of caches. The schema is a TypeBox
 * type, or plain JSON Schema whose literal types the compiler knows (`as const`). A TypeBox type is recognised by its
 * shape, so that this package does not need TypeBox. A reference has the type `unknown`, unless it is the root of a
 * TypeBox Cyclic.
 */
export type FromSchema<S> = S extends { readonly nullable: true } ? FromNotNull<S> | null : FromNotNull<S>;
