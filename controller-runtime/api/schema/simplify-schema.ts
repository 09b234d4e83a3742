import { isPlainObject } from '../base/plain-object.ts';

type RawSchema = Readonly<Record<string, unknown>>;

/**
 * Simplifies the forms that libraries write, one level deep: a union of literals becomes an enum, "or null" becomes
 * `nullable`, a pattern for every key becomes `additionalProperties`, TypeBox's Unknown and Any become a schema that
 * allows every value, and an enum or a constant gets the type of its values.
 */
export function simplifySchema(schema: RawSchema): RawSchema {
  return withValueType(withFreeContent(withoutAnyKeyPattern(withLiterals(withoutNull(schema)))));
}

/** Converts `anyOf: [X, null]` and `type: [t, 'null']` to a schema with `nullable: true`. */
function withoutNull(schema: RawSchema): RawSchema {
  const { type, anyOf, ...rest } = schema;
  if (Array.isArray(type) && type.length === 2 && type.includes('null')) {
    return { ...schema, type: type.find((each) => each !== 'null'), nullable: true };
  }
  if (!Array.isArray(anyOf) || type !== undefined) return schema;
  const others = anyOf.filter((each) => !isPlainObject(each) || each['type'] !== 'null');
  if (others.length === anyOf.length || others.length === 0) return schema;
  const only: unknown = others[0];
  if (others.length === 1 && isPlainObject(only)) return { ...withoutNull(only), ...rest, nullable: true };
  return { ...rest, anyOf: others, nullable: true };
}

/** Converts an `anyOf` of constants that have one type to an enum. */
function withLiterals(schema: RawSchema): RawSchema {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || anyOf.length === 0 || schema['enum'] !== undefined) return schema;
  if (!anyOf.every((each) => isPlainObject(each) && isLiteral(each))) return schema;
  const values = anyOf.map((each: RawSchema) => each['const']);
  return commonType(values) === undefined ? schema : { ...rest, enum: values };
}

function isLiteral(schema: RawSchema): boolean {
  const keys = Object.keys(schema);
  return keys.includes('const') && keys.every((key) => key === 'const' || key === 'type');
}

/**
 * Converts `patternProperties` with a pattern that every key matches, which TypeBox writes for Record<string, X>, to
 * `additionalProperties`.
 */
function withoutAnyKeyPattern(schema: RawSchema): RawSchema {
  const { patternProperties, ...rest } = schema;
  if (!isPlainObject(patternProperties) || schema['additionalProperties'] !== undefined) return schema;
  const patterns = Object.keys(patternProperties);
  return patterns.length === 1 && patterns[0] === '^.*$'
    ? { ...rest, additionalProperties: patternProperties['^.*$'] }
    : schema;
}

/** Converts TypeBox's Unknown and Any to a schema that explicitly allows every value. */
function withFreeContent(schema: RawSchema): RawSchema {
  const kind = schema['~kind'];
  return kind === 'Unknown' || kind === 'Any' ? { ...schema, 'x-kubernetes-preserve-unknown-fields': true } : schema;
}

function withValueType(schema: RawSchema): RawSchema {
  if (schema['type'] !== undefined) return schema;
  const type = Array.isArray(schema['enum']) ? commonType(schema['enum']) : commonType([schema['const']]);
  return type === undefined ? schema : { ...schema, type };
}

/**
 * Returns the common type of some scalars, without regard to null; undefined when their types differ. The type of
 * numbers is `integer` only when all are whole.
 */
function commonType(values: readonly unknown[]): 'string' | 'integer' | 'number' | 'boolean' | undefined {
  const types = new Set(values.filter((value) => value !== null).map((value) => typeof value));
  if (types.size !== 1) return undefined;
  if (types.has('string')) return 'string';
  if (types.has('boolean')) return 'boolean';
  if (!types.has('number')) return undefined;
  return values.every((value) => value === null || Number.isInteger(value)) ? 'integer' : 'number';
}
