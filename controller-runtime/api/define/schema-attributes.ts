import type { JsonSchema, SchemaRule } from '../schema/json-schema.ts';

/** The type of any class, also of an abstract class and of a class with constructor parameters. */
export type AnyClass = abstract new (...parameters: never[]) => unknown;

/**
 * A function that returns a class whose fields have `@Schema`. Because it is a function, the class may be declared
 * further down, or may be the class that has the field.
 */
export type ClassReference = () => AnyClass;

type Plain = Omit<JsonSchema, '$ref' | 'type' | 'items' | 'properties' | 'required' | 'additionalProperties'>;

/**
 * Attributes of `@Schema` (specification, section 2.6): those of JSON Schema in the OpenAPI v3 dialect. The type of a
 * field is never guessed: without `type`, a field needs `enum`, `const`, or a keyword such as `anyOf`.
 */
export interface SchemaAttributes extends Plain {
  readonly type?: NonNullable<JsonSchema['type']> | ClassReference;
  /** On a class: the name of its schema. Default: the kind of a model, or else the name of the class. */
  readonly name?: string;
  /** Rules in CEL about the value. In the expressions, `self` is the value. Default none. */
  readonly rules?: readonly SchemaRule[];
  /** `REQUIRED`: the field must be there. Default `NOT_REQUIRED`. */
  readonly requireMode?: 'REQUIRED' | 'NOT_REQUIRED';
  readonly items?: SchemaAttributes | ClassReference;
  /** Schemas of the fields of an object that has no class. */
  readonly properties?: Readonly<Record<string, SchemaAttributes>>;
  readonly additionalProperties?: boolean | SchemaAttributes | ClassReference;
}
