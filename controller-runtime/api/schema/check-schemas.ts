import { RE2JS, RE2JSException } from 're2js';
import { isPlainObject } from '../base/plain-object.ts';
import { quoteValue } from '../errors/field-cause.ts';
import { deepEqual } from '../base/json-equal.ts';
import type { JsonSchema } from './json-schema.ts';
import { ModelError } from '../errors/model-error.ts';
import { referencedName } from './schema-reference.ts';
import { maxSchemaDepth, SchemaCounter } from './schema-limits.ts';
import { childSchemas } from './schema-keywords.ts';

/**
 * The maximum size of all schemas of a model together, in characters of JSON. The largest known
 * CustomResourceDefinitions have schemas of 1.2 MB.
 */
const maxSchemaLength = 8 * 1024 * 1024;

type Components = Readonly<Record<string, JsonSchema>>;

interface Visit {
  readonly schema: unknown;
  /** The component and the field that are checked, such as `PersonSpec.age`. */
  readonly path: string;
  readonly ancestors: readonly unknown[];
}

/**
 * Schemas that were checked. They need no second check, because descriptors are frozen deeply. Each server in a process
 * registers the same built-in kinds, and their checks took a tenth of its start-up time.
 */
const checked = new WeakSet<Components>();

/**
 * Checks the rules for the schemas of every model, however it was declared: depth, number and size; no schema
 * object that contains itself; no field `__proto__`; no default that can never be valid; only local references to
 * schemas that exist; and only patterns that RE2 supports (no look-around, no back-references).
 * @throws ModelError for a schema that breaks a rule; the error names the component and the field.
 */
export function checkSchemas(model: string, components: Components): void {
  if (checked.has(components)) return;
  let size = 0;
  const counter = new SchemaCounter();
  for (const [name, schema] of Object.entries(components)) {
    checkSchema({ model, components, counter }, { schema, path: name, ancestors: [] });
    size += JSON.stringify(schema).length;
    if (size > maxSchemaLength)
      throw new ModelError(model, name, `the schemas may have at most ${maxSchemaLength} characters of JSON in all`);
  }
  for (const name of Object.keys(components)) checkInPlace(model, components, name);
  if (Object.isFrozen(components)) checked.add(components);
}

interface Check {
  readonly model: string;
  readonly components: Components;
  readonly counter: SchemaCounter;
}

function checkSchema(check: Check, visit: Visit): void {
  const { schema, path, ancestors } = visit;
  if (!isPlainObject(schema)) throw new ModelError(check.model, path, 'must be a schema');
  const rule = check.counter.count() ?? brokenRule(check.components, schema, ancestors);
  if (rule !== undefined) throw new ModelError(check.model, path, rule);
  for (const [place, child] of childSchemas(schema)) {
    checkSchema(check, { schema: child, path: `${path}.${place}`, ancestors: [...ancestors, schema] });
  }
}

function brokenRule(
  components: Components,
  schema: Readonly<Record<string, unknown>>,
  ancestors: readonly unknown[],
): string | undefined {
  if (ancestors.includes(schema)) return 'the schema contains itself; refer to it with $ref';
  if (ancestors.length >= maxSchemaDepth) return `schemas nest at most ${maxSchemaDepth} levels`;
  if (isPlainObject(schema['properties']) && Object.hasOwn(schema['properties'], '__proto__'))
    return 'a field may not be named __proto__';
  return brokenReference(components, schema['$ref']) ?? brokenPattern(schema['pattern']) ?? brokenDefault(schema);
}

/**
 * Returns the problem of a default whose type or value can never be valid: every write without the field would fail.
 * Other rules for the default are checked when an object is written.
 */
function brokenDefault({ default: value, type, enum: values }: JsonSchema): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (type !== undefined && isOfType[type]?.(value) === false)
    return `default ${quoteValue(value)} is not of type ${type}`;
  if (values !== undefined && !values.some((each) => deepEqual(each, value)))
    return `default ${quoteValue(value)} is none of the values of enum`;
  return undefined;
}

const isOfType: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isPlainObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
};

function brokenReference(components: Components, reference: unknown): string | undefined {
  if (reference === undefined) return undefined;
  const name = typeof reference === 'string' ? referencedName(reference) : undefined;
  if (name === undefined) return `$ref ${quoteValue(reference)} is not local: it must be #/components/schemas/<name>`;
  return Object.hasOwn(components, name) ? undefined : `$ref leads to the schema "${name}", which does not exist`;
}

function brokenPattern(pattern: unknown): string | undefined {
  if (pattern === undefined) return undefined;
  if (typeof pattern !== 'string') return `pattern must be a string, not ${quoteValue(pattern)}`;
  try {
    RE2JS.compile(RE2JS.translateRegExp(pattern));
    return undefined;
  } catch (error) {
    if (error instanceof RE2JSException)
      return `pattern ${quoteValue(pattern)} is not supported by RE2: ${error.message}`;
    throw error;
  }
}

/**
 * Refuses a schema that refers to itself without a field or an item in between, because its validation would never end.
 */
function checkInPlace(model: string, components: Components, start: string): void {
  const reached = new Set<string>();
  const open = [start];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const next of inPlaceReferences(components[name] ?? {})) {
      if (next === start)
        throw new ModelError(model, start, 'the schema refers to itself without a field or an item in between');
      if (!reached.has(next)) open.push(next);
      reached.add(next);
    }
  }
}

function inPlaceReferences(schema: JsonSchema): readonly string[] {
  const { $ref, allOf = [], anyOf = [], oneOf = [], not } = schema;
  const branches = [...allOf, ...anyOf, ...oneOf, ...(not === undefined ? [] : [not])];
  const own = $ref === undefined ? undefined : referencedName($ref);
  return [...(own === undefined ? [] : [own]), ...branches.flatMap(inPlaceReferences)];
}
