import type { JsonSchema } from './json-schema.ts';

type Annotation = '$id' | '$schema' | '$comment' | 'examples' | 'readOnly' | 'writeOnly' | 'externalDocs' | 'xml';

/**
 * `Named`: the keywords whose value is an object with a schema for each name. `Nested`: the keywords whose value is one
 * schema or a list of schemas.
 */
type Named = 'properties' | 'patternProperties' | '$defs' | 'definitions';
type Nested = 'items' | 'additionalProperties' | 'not' | 'allOf' | 'anyOf' | 'oneOf';

type IsKnown<K> = K extends keyof JsonSchema | Named | Annotation | `x-${string}` | `~${string}` ? true : false;

/**
 * The type `S`, in which every keyword that a schema cannot have becomes `never`, so that the compiler refuses a
 * misspelt keyword. TypeBox types have additional keywords, so the compiler does not check the keywords of a TypeBox
 * type; only `defineModel` checks them, at run time.
 */
export type KnownKeywords<S> = S extends { readonly '~kind': unknown }
  ? unknown
  : S extends readonly unknown[]
    ? { readonly [I in keyof S]: KnownKeywords<S[I]> }
    : S extends object
      ? {
          readonly [K in keyof S]: K extends Named
            ? { readonly [N in keyof S[K]]: KnownKeywords<S[K][N]> }
            : K extends Nested
              ? KnownKeywords<S[K]>
              : IsKnown<K> extends true
                ? S[K]
                : never;
        }
      : S;
