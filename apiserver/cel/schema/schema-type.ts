import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { CelType, ObjectType } from '../types/cel-type.ts';
import { escapeField } from './field-names.ts';
import { asResource, isMapSchema, resolveSchema } from './schema-source.ts';
import type { Components } from './schema-source.ts';

/**
 * The maximum number of bytes of a request to Kubernetes. It bounds the size of all values for which a schema has no
 * limit.
 */
export const maxRequestBytes: number = 3 * 1024 * 1024;

/** The deepest nesting that is followed, for example of lists in lists, because references can form a cycle. */
const maxDepth = 100;

interface Place {
  readonly components: Components;
  /** The name of the type, which messages show. */
  readonly name: string;
  readonly depth: number;
}

/**
 * Returns the CEL type of the values that a schema allows. Returns undefined when CEL expressions cannot read these
 * values, for example because the schema allows any value.
 */
export function typeOfSchema(schema: JsonSchema, components: Components, isRoot: boolean): CelType | undefined {
  return typeOf(isRoot ? asResource(resolveSchema(schema, components)) : schema, {
    components,
    name: 'selfType',
    depth: 0,
  });
}

function typeOf(given: JsonSchema, place: Place): CelType | undefined {
  if (place.depth > maxDepth) return undefined;
  const resolved = resolveSchema(given, place.components);
  if (resolved['x-kubernetes-int-or-string'] === true)
    return { kind: 'dyn', maxSize: resolved.maxLength === undefined ? maxRequestBytes - 2 : resolved.maxLength * 4 };
  const schema = resolved['x-kubernetes-embedded-resource'] === true ? asResource(resolved) : resolved;
  switch (schema.type) {
    case 'array':
      return listType(schema, place);
    case 'object':
      return isMapSchema(schema) ? mapType(schema, place) : objectType(schema, place);
    case 'string':
      return textType(schema);
    case 'boolean':
      return { kind: 'bool', maxSize: 0 };
    case 'number':
      return { kind: 'double', maxSize: 0 };
    case 'integer':
      return { kind: 'int', maxSize: 0 };
    default:
      return undefined;
  }
}

function listType({ items, maxItems }: JsonSchema, place: Place): CelType | undefined {
  const inner = inside(place, '@idx');
  const item = items === undefined ? undefined : typeOf(items, inner);
  if (items === undefined || item === undefined) return undefined;
  const open = (maxRequestBytes - 2) / (leastBytes(items, inner) + 1);
  return { kind: 'list', item, maxSize: maxItems ?? Math.floor(open) };
}

function mapType({ additionalProperties, maxProperties }: JsonSchema, place: Place): CelType | undefined {
  if (typeof additionalProperties !== 'object') return undefined;
  const inner = inside(place, '@elem');
  const value = typeOf(additionalProperties, inner);
  if (value === undefined) return undefined;
  const open = (maxRequestBytes - 2) / (leastBytes(additionalProperties, inner) + 6);
  return { kind: 'map', key: { kind: 'string', maxSize: 0 }, value, maxSize: maxProperties ?? Math.floor(open) };
}

/**
 * Returns the type of an object. The types of its fields are computed when they are first read, since references can
 * form a cycle.
 */
function objectType({ properties = {} }: JsonSchema, place: Place): ObjectType {
  const names = new Map(Object.keys(properties).map((name) => [escapeField(name), name]));
  const known = new Map<string, CelType | undefined>();
  return {
    kind: 'object',
    name: place.name,
    field: (escaped) => {
      if (known.has(escaped)) return known.get(escaped);
      const schema = properties[names.get(escaped) ?? ''];
      const type = schema === undefined ? undefined : typeOf(schema, { ...inside(place, escaped), depth: 0 });
      known.set(escaped, type);
      return type;
    },
  };
}

function textType({ format, maxLength, enum: values }: JsonSchema): CelType {
  switch (format) {
    case 'byte':
      return { kind: 'bytes', maxSize: maxLength ?? maxRequestBytes - 2 };
    case 'duration':
      return { kind: 'duration', maxSize: 32 };
    case 'date':
      return { kind: 'timestamp', maxSize: 12 };
    case 'date-time':
      return { kind: 'timestamp', maxSize: 32 };
    default:
      // A character has at most four bytes.
      if (maxLength !== undefined) return { kind: 'string', maxSize: maxLength * 4 };
      return { kind: 'string', maxSize: longestOf(values) ?? maxRequestBytes - 2 };
  }
}

function longestOf(values: readonly unknown[] | undefined): number | undefined {
  if (values === undefined || values.length === 0) return undefined;
  return Math.max(0, ...values.map((value) => (typeof value === 'string' ? value.length : 0)));
}

function inside({ components, name, depth }: Place, part: string): Place {
  return { components, name: `${name}.${part}`, depth: depth + 1 };
}

/**
 * Returns the size in JSON of the smallest value of a schema. The maximum number of such values in a request is
 * computed from this size.
 */
export function leastBytesOf(schema: JsonSchema, components: Components, isRoot: boolean): number {
  const place = { components, name: '', depth: 0 };
  return leastBytes(isRoot ? asResource(resolveSchema(schema, components)) : schema, place);
}

function leastBytes(given: JsonSchema, place: Place): number {
  if (place.depth > maxDepth) return 2;
  const schema = resolveSchema(given, place.components);
  if (schema['x-kubernetes-int-or-string'] === true) return 1;
  switch (schema.type) {
    case 'boolean':
      return 4;
    case 'number':
    case 'integer':
      return 1;
    case 'string':
      return { duration: 3, date: 12, 'date-time': 21 }[schema.format ?? ''] ?? 2;
    case 'object':
      return isMapSchema(schema) ? 2 : leastObject(schema, place);
    default:
      return 2;
  }
}

function leastObject({ properties = {}, required = [] }: JsonSchema, place: Place): number {
  let bytes = 2;
  for (const name of required) {
    const schema = properties[name];
    if (schema === undefined || schema.default !== undefined) continue;
    const inner = inside(place, name);
    if (typeOf(schema, { ...inner, depth: maxDepth - 3 }) === undefined) continue;
    bytes += name.length + 4 + leastBytes(schema, inner);
  }
  return bytes;
}
