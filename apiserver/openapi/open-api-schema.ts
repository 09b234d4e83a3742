import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { Steps } from '../turns/steps.ts';
import type { OpenApiSchema } from './open-api.ts';
import { schemaReference } from './open-api.ts';

/** Returns the name that the target of a `$ref` has in the document; undefined when there is no target. */
export type NameOfReference = (reference: string) => string | undefined;

// These keywords have the same meaning in our schemas and in OpenAPI 3.0. Only they are copied, because OpenAPI 3.0
// allows no unknown keywords.
const sameKeywords = [
  'title',
  'description',
  'minProperties',
  'maxProperties',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minLength',
  'maxLength',
  'format',
  'multipleOf',
  'default',
  'nullable',
  'example',
  'deprecated',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-int-or-string',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
] as const;

const types = new Set<unknown>(['object', 'array', 'string', 'integer', 'number', 'boolean']);

/** The number of nodes of a schema that are converted in one step, which takes about two milliseconds. */
const nodesPerStep = 500;

/** The state that the conversion of a schema shares with the conversions of the schemas nested in it. */
interface Conversion {
  readonly nameOf: NameOfReference;
  nodes: number;
}

/**
 * Converts one of our schemas to strict OpenAPI 3.0. `const` becomes an enum of one value, an exclusive bound becomes a
 * flag, and null is added to a nullable enum. A `$ref` with siblings moves into `allOf`, since siblings of a `$ref`
 * would be ignored.
 */
export function openApiSchema(schema: JsonSchema, nameOf: NameOfReference): Steps<OpenApiSchema> {
  return convert(schema, { nameOf, nodes: 0 });
}

function* convert(schema: JsonSchema, conversion: Conversion): Steps<OpenApiSchema> {
  conversion.nodes += 1;
  if (conversion.nodes % nodesPerStep === 0) yield;
  if (schema.$ref !== undefined) return yield* portableReference(schema, conversion);
  const own: Record<string, unknown> = { ...typeOf(schema) };
  for (const keyword of sameKeywords) if (schema[keyword] !== undefined) own[keyword] = schema[keyword];
  const children = yield* childrenOf(schema, conversion);
  return { ...own, ...valuesOf(schema), ...patternOf(schema), ...boundsOf(schema), ...children };
}

function* portableReference({ $ref = '', ...rest }: JsonSchema, conversion: Conversion): Steps<OpenApiSchema> {
  const target = conversion.nameOf($ref);
  if (target === undefined) return yield* convert(rest, conversion);
  if (Object.keys(rest).length === 0) return schemaReference(target);
  return yield* convert({ ...rest, allOf: [{ $ref }, ...(rest.allOf ?? [])] }, conversion);
}

function typeOf(schema: JsonSchema): OpenApiSchema {
  // A schema with this keyword allows integers and texts. OpenAPI gets `anyOf` with both types in place of `type`, or
  // only the `anyOf` of the schema, if the schema has one.
  if (schema['x-kubernetes-int-or-string'] === true) {
    return schema.anyOf === undefined ? { anyOf: [{ type: 'integer' }, { type: 'string' }] } : {};
  }
  if (!types.has(schema.type)) return {};
  return schema.type === 'array' && schema.items === undefined ? { type: 'array', items: {} } : { type: schema.type };
}

function valuesOf(schema: JsonSchema): OpenApiSchema {
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (values === undefined || values.length === 0) return {};
  return { enum: schema.nullable === true && !values.includes(null) ? [...values, null] : values };
}

/**
 * Returns the pattern of a schema. The server's patterns are those of RE2. A pattern that JavaScript cannot compile is
 * left out, since tools would fail.
 */
function patternOf({ pattern }: JsonSchema): OpenApiSchema {
  if (pattern === undefined) return {};
  try {
    new RegExp(pattern, 'u');
    return { pattern };
  } catch {
    return {};
  }
}

function boundsOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): OpenApiSchema {
  return {
    ...boundOf('minimum', minimum, exclusiveMinimum),
    ...boundOf('maximum', maximum, exclusiveMaximum),
  };
}

/**
 * Returns a bound in the form of OpenAPI. In JSON Schema 2020-12, an exclusive bound is a separate number, so a schema
 * may have two bounds; the tighter one is enough.
 */
function boundOf(
  name: 'minimum' | 'maximum',
  limit: number | undefined,
  exclusive: boolean | number | undefined,
): OpenApiSchema {
  const isMinimum = name === 'minimum';
  const flag = isMinimum ? 'exclusiveMinimum' : 'exclusiveMaximum';
  if (typeof exclusive === 'number') {
    const isLimitTighter = limit !== undefined && (isMinimum ? limit > exclusive : limit < exclusive);
    if (!isLimitTighter) return { [name]: exclusive, [flag]: true };
  }
  if (limit === undefined) return {};
  return exclusive === true ? { [name]: limit, [flag]: true } : { [name]: limit };
}

function* childrenOf(schema: JsonSchema, conversion: Conversion): Steps<OpenApiSchema> {
  const { properties, required, additionalProperties, items, not } = schema;
  const children: Record<string, unknown> = {};
  if (properties !== undefined) {
    const converted: [string, OpenApiSchema][] = [];
    for (const [name, child] of Object.entries(properties)) converted.push([name, yield* convert(child, conversion)]);
    // Object.fromEntries creates own properties with any name, also `__proto__`.
    children['properties'] = Object.fromEntries(converted);
  }
  if (required !== undefined && required.length > 0) children['required'] = required;
  if (typeof additionalProperties === 'object')
    children['additionalProperties'] = yield* convert(additionalProperties, conversion);
  if (typeof additionalProperties === 'boolean') children['additionalProperties'] = additionalProperties;
  if (items !== undefined) children['items'] = yield* convert(items, conversion);
  if (not !== undefined) children['not'] = yield* convert(not, conversion);
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = schema[keyword] ?? [];
    if (branches.length === 0) continue;
    const converted: OpenApiSchema[] = [];
    for (const branch of branches) converted.push(yield* convert(branch, conversion));
    children[keyword] = converted;
  }
  return children;
}
