import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { JsonSchema, ModelDescriptor } from '@homeostat/controller-runtime/api';

/** The maximum number of values in an example. People read examples, but schemas may have any size. */
const maxValues = 500;

const referencePrefix = '#/components/schemas/';

/**
 * Returns an example object for a model whose schema refers to itself; undefined for all other models. Tools generate
 * example bodies, but they use a string where a schema is recursive, which the server would refuse. In this example,
 * recursive fields are absent, null or empty.
 */
export function exampleBody(model: ModelDescriptor): object | undefined {
  const root = model.components[model.schemaName];
  if (root === undefined || !refersToItself(model)) return undefined;
  // The example has no status, because controllers set it. Its `apiVersion`, `kind` and `metadata` are set below.
  const {
    metadata: _metadata,
    status: _status,
    apiVersion: _apiVersion,
    kind: _kind,
    ...properties
  } = root.properties ?? {};
  const content = new ExampleMaker(model).valueOf({ ...root, properties }, [model.schemaName]);
  const fields = typeof content === 'object' && content !== null ? content : {};
  return { apiVersion: apiVersionOf(model), kind: model.kind, metadata: { name: 'example' }, ...fields };
}

/**
 * True when a component refers to itself, directly or through others. The function repeatedly removes components to
 * which no remaining component refers. If some components are left at the end, they contain a cycle.
 */
function refersToItself({ components }: ModelDescriptor): boolean {
  const targets = new Map(Object.entries(components).map(([name, schema]) => [name, targetsOf(schema)]));
  const references = new Map([...targets.keys()].map((name) => [name, 0]));
  const count = (name: string, change: number): number => {
    const counted = (references.get(name) ?? 0) + change;
    if (references.has(name)) references.set(name, counted);
    return counted;
  };
  for (const target of [...targets.values()].flatMap((each) => [...each])) count(target, 1);
  const free = [...targets.keys()].filter((name) => references.get(name) === 0);
  for (const name of free) {
    for (const target of targets.get(name) ?? []) if (count(target, -1) === 0) free.push(target);
  }
  return free.length < targets.size;
}

/** Returns the components to which any part of a schema refers. */
function targetsOf(schema: JsonSchema): ReadonlySet<string> {
  const targets = new Set<string>();
  const waiting = [schema];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.$ref !== undefined) targets.add(next.$ref.slice(referencePrefix.length));
    const { properties = {}, items, additionalProperties, allOf = [], anyOf = [], oneOf = [], not } = next;
    const below = typeof additionalProperties === 'object' ? [additionalProperties] : [];
    waiting.push(...Object.values(properties), ...below, ...allOf, ...anyOf, ...oneOf);
    if (items !== undefined) waiting.push(items);
    if (not !== undefined) waiting.push(not);
  }
  return targets;
}

/** Creates values that schemas accept. `undefined` means that the field is left out. */
class ExampleMaker {
  readonly #components: ModelDescriptor['components'];
  #values = 0;

  constructor({ components }: ModelDescriptor) {
    this.#components = components;
  }

  /**
   * Returns an example value of a schema. `path` has the names of the components on the way from the root to this
   * schema. A reference to one of them is not followed, because the example would never end.
   */
  valueOf(schema: JsonSchema, path: readonly string[]): unknown {
    this.#values += 1;
    if (this.#values > maxValues) return undefined;
    if (schema.$ref !== undefined) return this.#referred(schema.$ref, path) ?? (schema.nullable ? null : undefined);
    const given = schema.default ?? schema.example ?? schema.const ?? schema.enum?.[0];
    if (given !== undefined) return given;
    const [part] = [schema.allOf, schema.oneOf, schema.anyOf].flatMap((parts) => parts ?? []);
    if (schema.properties === undefined && part !== undefined) return this.valueOf(part, path);
    if (schema.properties !== undefined || schema.type === 'object') return this.#object(schema, path);
    return schema.type === 'array' ? this.#array(schema, path) : simpleValue(schema);
  }

  #referred(reference: string, path: readonly string[]): unknown {
    const name = reference.slice(referencePrefix.length);
    const target = this.#components[name];
    return target === undefined || path.includes(name) ? undefined : this.valueOf(target, [...path, name]);
  }

  /** Returns an example object; undefined when a required field would be left out. */
  #object({ properties = {}, required }: JsonSchema, path: readonly string[]): unknown {
    const fields: Record<string, unknown> = {};
    const needed = new Set(required);
    for (const [name, schema] of Object.entries(properties)) {
      const value = this.valueOf(schema, path);
      if (value !== undefined) fields[name] = value;
      else if (needed.has(name)) return undefined;
    }
    return fields;
  }

  #array({ items, minItems = 0, maxItems = 1 }: JsonSchema, path: readonly string[]): unknown {
    const item = items === undefined || maxItems === 0 ? undefined : this.valueOf(items, path);
    if (item === undefined) return minItems === 0 ? [] : undefined;
    return minItems <= 1 ? [item] : undefined;
  }
}

/** Example strings, by format. A field with a pattern is left out, since only its author knows a matching text. */
const texts: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  duration: '1h',
  uuid: '00000000-0000-4000-8000-000000000000',
  email: 'user@example.com',
  uri: 'https://example.com/',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  byte: 'dGV4dA==',
};

function simpleValue(schema: JsonSchema): unknown {
  const { type, format, pattern, minLength = 0, maxLength = Infinity } = schema;
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number') return simpleNumber(schema);
  if (type !== 'string' || pattern !== undefined) return undefined;
  if (format !== undefined) return texts[format];
  return 'string'.padEnd(minLength, 'x').slice(0, maxLength);
}

/**
 * Returns a number that a schema allows: 0, a number at or near the minimum, or the maximum; undefined if it allows
 * none of these.
 */
function simpleNumber(schema: JsonSchema): number | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf = 1 } = schema;
  const isFit = (value: number): boolean =>
    value % multipleOf === 0 &&
    value >= (minimum ?? -Infinity) &&
    value <= (maximum ?? Infinity) &&
    !(exclusiveMinimum === true && value === minimum) &&
    !(exclusiveMaximum === true && value === maximum) &&
    !(typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) &&
    !(typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum);
  const least = typeof exclusiveMinimum === 'number' ? exclusiveMinimum : (minimum ?? 0);
  const most = typeof exclusiveMaximum === 'number' ? exclusiveMaximum : (maximum ?? 0);
  const multiple = Math.ceil(least / multipleOf) * multipleOf;
  return [0, least, multiple, multiple + multipleOf, most].find(isFit);
}
