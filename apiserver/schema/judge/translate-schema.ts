import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { Identity } from './distinct.ts';
import { formats } from './formats.ts';

type Draft2020 = Readonly<Record<string, unknown>>;

/**
 * The largest integer that is accepted. Numbers are doubles, so a larger integer could lose digits, or need more than
 * the 64 bits that other programs use.
 */
export const maxInteger: number = Number.MAX_SAFE_INTEGER;

const referencePrefix = '#/components/schemas/';

// The keywords that have the same meaning in the OpenAPI v3 dialect and in JSON Schema 2020-12.
const sameKeywords = [
  'required',
  'minProperties',
  'maxProperties',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'pattern',
  'multipleOf',
  'enum',
  'const',
] as const;

/** Returns the name of the component that a reference points to. */
export function componentOf(reference: string): string {
  return reference.startsWith(referencePrefix) ? reference.slice(referencePrefix.length) : reference;
}

/** Returns the identity by which the items of a list must be distinct; undefined when they need not be distinct. */
export function identityOfItems(schema: JsonSchema): Identity | undefined {
  const listType = schema['x-kubernetes-list-type'];
  if (listType === 'map') return { kind: 'map', keys: schema['x-kubernetes-list-map-keys'] ?? [] };
  return listType === 'set' || schema.uniqueItems === true ? { kind: 'set' } : undefined;
}

/** Returns the types that a schema allows, without null; empty when it has no type. */
export function typesOf(schema: JsonSchema): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return schema.type === undefined ? [] : [schema.type];
}

/**
 * Translates one schema of the OpenAPI v3 dialect to JSON Schema 2020-12, for ajv with the keywords `distinct` and
 * `embedded`. References become `#/$defs/<name>`. Keywords that check nothing (default, example, description) are left
 * out.
 */
export function translateSchema(schema: JsonSchema): Draft2020 {
  const types = typesOf(schema);
  const rest = translateRules(schema);
  if (schema.nullable !== true) return { ...(types.length === 0 ? {} : { type: types }), ...rest };
  // Every rule that is not in this list applies only to values of one type, so it accepts null.
  const judgesNull = ['enum', 'const', '$ref', 'allOf', 'anyOf', 'oneOf', 'not'].some((keyword) => keyword in rest);
  if (!judgesNull) return { ...(types.length === 0 ? {} : { type: [...types, 'null'] }), ...rest };
  return { anyOf: [{ type: 'null' }, { ...(types.length === 0 ? {} : { type: types }), ...rest }] };
}

function translateRules(schema: JsonSchema): Draft2020 {
  const rules: Record<string, unknown> = { ...translateBounds(schema), ...translateChildren(schema) };
  for (const keyword of sameKeywords) if (schema[keyword] !== undefined) rules[keyword] = schema[keyword];
  if (schema.format !== undefined && formats.has(schema.format)) rules['format'] = schema.format;
  if (schema['x-kubernetes-embedded-resource'] === true) rules['embedded'] = true;
  const identity = identityOfItems(schema);
  if (identity !== undefined) rules['distinct'] = identity;
  return rules;
}

/**
 * Translates bounds. In OpenAPI 3.0, `exclusiveMinimum` is a boolean that makes `minimum` exclusive; in 2020-12, it is
 * the bound itself.
 */
function translateBounds(schema: JsonSchema): Draft2020 {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const bounds: { readonly minimum?: number; readonly maximum?: number } = {
    ...bound('Minimum', minimum, exclusiveMinimum),
    ...bound('Maximum', maximum, exclusiveMaximum),
  };
  if (!typesOf(schema).includes('integer')) return bounds;
  return {
    ...bounds,
    minimum: Math.max(bounds.minimum ?? -maxInteger, -maxInteger),
    maximum: Math.min(bounds.maximum ?? maxInteger, maxInteger),
  };
}

function bound(
  name: 'Minimum' | 'Maximum',
  limit: number | undefined,
  exclusive: boolean | number | undefined,
): Draft2020 {
  const inclusive = limit === undefined ? {} : { [name.toLowerCase()]: limit };
  if (typeof exclusive === 'number') return { ...inclusive, [`exclusive${name}`]: exclusive };
  return exclusive === true && limit !== undefined ? { [`exclusive${name}`]: limit } : inclusive;
}

function translateChildren(schema: JsonSchema): Draft2020 {
  const { $ref, properties, additionalProperties, items, not } = schema;
  const children: Record<string, unknown> = {};
  if ($ref !== undefined) children['$ref'] = `#/$defs/${escapePointer(componentOf($ref))}`;
  if (properties !== undefined) children['properties'] = translateNamed(properties);
  if (typeof additionalProperties === 'object')
    children['additionalProperties'] = translateSchema(additionalProperties);
  if (additionalProperties === false) children['additionalProperties'] = false;
  if (items !== undefined) children['items'] = translateSchema(items);
  if (not !== undefined) children['not'] = translateSchema(not);
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = schema[keyword];
    if (branches !== undefined) children[keyword] = branches.map(translateSchema);
  }
  return children;
}

/** Translates named schemas, for `properties` and for `$defs`. */
export function translateNamed(schemas: Readonly<Record<string, JsonSchema>>): Draft2020 {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, translateSchema(schema)]));
}

function escapePointer(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
