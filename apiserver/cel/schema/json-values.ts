import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { CelError } from '../values/cel-error.ts';
import { CelBytes, CelDuration, CelList, CelMap, CelTimestamp } from '../values/cel-value.ts';
import type { CelValue, ListIdentity, NamedField } from '../values/cel-value.ts';
import { parseDuration, parseTimestamp } from '../library/time-values.ts';
import { escapeField } from './field-names.ts';
import { asResource, isMapSchema, resolveSchema } from './schema-source.ts';
import type { Components } from './schema-source.ts';

/**
 * Converts a JSON value to a CEL value. Objects and lists are not copied; the values in them are converted when an
 * expression reads them.
 */
export type JsonReader = (value: unknown) => CelValue;

/** Converts a JSON value that has no known schema to a CEL value. */
export const readAny: JsonReader = (value) => {
  switch (typeof value) {
    case 'number':
      return Number.isInteger(value) ? BigInt(value) : value;
    case 'string':
    case 'boolean':
      return value;
    default:
      if (Array.isArray(value)) return new JsonList(value, readAny, 'position');
      return isJsonObject(value) ? new JsonMap(value, readAny) : null;
  }
};

/**
 * Returns the function that converts JSON values of the schema to CEL values. The functions for the schema's fields are
 * created at their first use.
 */
export function readerOf(schema: JsonSchema, components: Components, isRoot: boolean): JsonReader {
  return new Readers(components).of(isRoot ? asResource(resolveSchema(schema, components)) : schema);
}

class Readers {
  readonly #components: Components;
  readonly #known = new Map<JsonSchema, JsonReader>();

  constructor(components: Components) {
    this.#components = components;
  }

  of(given: JsonSchema): JsonReader {
    const known = this.#known.get(given);
    if (known !== undefined) return known;
    const reader = this.#make(given);
    const orNull: JsonReader = (value) => (value === null ? null : reader(value));
    this.#known.set(given, orNull);
    return orNull;
  }

  #make(given: JsonSchema): JsonReader {
    const resolved = resolveSchema(given, this.#components);
    if (resolved['x-kubernetes-int-or-string'] === true) return readAny;
    const schema = resolved['x-kubernetes-embedded-resource'] === true ? asResource(resolved) : resolved;
    switch (schema.type) {
      case 'array':
        return this.#listReader(schema);
      case 'object':
        return isMapSchema(schema) ? this.#mapReader(schema) : this.#objectReader(schema);
      case 'integer':
        return (value) => (typeof value === 'number' ? BigInt(Math.trunc(value)) : readAny(value));
      case 'number':
        return (value) => (typeof value === 'number' ? value : readAny(value));
      case 'string':
        return textReader(schema.format);
      default:
        return readAny;
    }
  }

  #listReader({ items = {}, ...schema }: JsonSchema): JsonReader {
    const identity = identityOf(schema);
    let read: JsonReader | undefined;
    return (value) => {
      read ??= this.of(items);
      return Array.isArray(value) ? new JsonList(value, read, identity) : readAny(value);
    };
  }

  #mapReader({ additionalProperties }: JsonSchema): JsonReader {
    let read: JsonReader | undefined;
    return (value) => {
      read ??= typeof additionalProperties === 'object' ? this.of(additionalProperties) : readAny;
      return isJsonObject(value) ? new JsonMap(value, read) : readAny(value);
    };
  }

  #objectReader({ properties = {} }: JsonSchema): JsonReader {
    const fields: Fields = new Map(
      Object.keys(properties).map((name, index) => [escapeField(name) ?? name, { name, index, read: undefined }]),
    );
    const readerOfField = (name: string): JsonReader => {
      const schema = properties[name];
      return schema === undefined ? readAny : this.of(schema);
    };
    return (value) => (isJsonObject(value) ? new JsonFields(value, fields, readerOfField) : readAny(value));
  }
}

interface Field {
  readonly name: string;
  readonly index: number;
  read: JsonReader | undefined;
}

type Fields = ReadonlyMap<string, Field>;

/**
 * An object with declared fields, which expressions read by their escaped names. Each field is converted only once,
 * because many rules read the same fields.
 */
class JsonFields extends CelMap {
  readonly #values: (CelValue | undefined)[];
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #fields: Fields;
  readonly #readerOfField: (name: string) => JsonReader;

  constructor(raw: Readonly<Record<string, unknown>>, fields: Fields, readerOfField: (name: string) => JsonReader) {
    super();
    // The array has its full length from the beginning, because an array that grows takes several times the memory.
    this.#values = new Array<CelValue | undefined>(fields.size);
    this.#raw = raw;
    this.#fields = fields;
    this.#readerOfField = readerOfField;
  }

  override get typeName(): string {
    return 'object';
  }

  /** The number of declared fields. Comparisons of objects do not use it: they count the keys that an object has. */
  get size(): number {
    return this.#fields.size;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') return undefined;
    const field = this.#fields.get(key);
    if (field === undefined) return this.#read(key, readAny);
    return (this.#values[field.index] ??= this.#readField(field));
  }

  override read(named: NamedField): CelValue | undefined {
    if (named.schema === this.#fields) {
      const known = this.#values[named.index];
      if (known !== undefined) return known;
    }
    const field = this.#fields.get(named.name);
    if (field === undefined) return this.#read(named.name, readAny);
    named.schema = this.#fields;
    named.index = field.index;
    return (this.#values[field.index] ??= this.#readField(field));
  }

  #readField(field: Field): CelValue | undefined {
    field.read ??= this.#readerOfField(field.name);
    return this.#read(field.name, field.read);
  }

  #read(name: string, read: JsonReader): CelValue | undefined {
    if (!Object.hasOwn(this.#raw, name)) return undefined;
    const value = this.#raw[name];
    return value === undefined ? undefined : read(value);
  }

  keys(): readonly CelValue[] {
    return Object.keys(this.#raw).map((name) => escapeField(name) ?? name);
  }
}

/** An object without declared fields, which expressions read as a map. */
class JsonMap extends CelMap {
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #read: JsonReader;

  constructor(raw: Readonly<Record<string, unknown>>, read: JsonReader) {
    super();
    this.#raw = raw;
    this.#read = read;
  }

  get size(): number {
    return keysOf(this.#raw).length;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#raw, key)) return undefined;
    const value = this.#raw[key];
    return value === undefined ? undefined : this.#read(value);
  }

  keys(): readonly CelValue[] {
    return keysOf(this.#raw);
  }
}

/**
 * A cache of the keys of objects without declared fields. There may be many keys, and an expression can read them in a
 * loop.
 */
const knownKeys = new WeakMap<object, readonly string[]>();

function keysOf(raw: Readonly<Record<string, unknown>>): readonly string[] {
  const known = knownKeys.get(raw);
  if (known !== undefined) return known;
  const keys = Object.keys(raw);
  knownKeys.set(raw, keys);
  return keys;
}

class JsonList extends CelList {
  readonly identity: ListIdentity;
  readonly #values: CelValue[] = [];
  readonly #raw: readonly unknown[];
  readonly #read: JsonReader;

  constructor(raw: readonly unknown[], read: JsonReader, identity: ListIdentity) {
    super();
    this.#raw = raw;
    this.#read = read;
    this.identity = identity;
  }

  get length(): number {
    return this.#raw.length;
  }

  at(index: number): CelValue {
    return (this.#values[index] ??= this.#read(this.#raw[index]));
  }
}

function identityOf(schema: JsonSchema): ListIdentity {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set') return 'value';
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  return type === 'map' ? keys.map((key) => escapeField(key) ?? key) : 'position';
}

function textReader(format: string | undefined): JsonReader {
  switch (format) {
    case 'byte':
      return (value) => new CelBytes(Buffer.from(String(value), 'base64'));
    case 'duration':
      return (value) => new CelDuration(parsed(parseDuration(String(value)), 'duration', value));
    case 'date':
      return (value) => new CelTimestamp(parsed(parseTimestamp(`${String(value)}T00:00:00Z`), 'date', value));
    case 'date-time':
      return (value) => new CelTimestamp(parsed(parseTimestamp(String(value)), 'date-time', value));
    default:
      return (value) => (typeof value === 'string' ? value : readAny(value));
  }
}

function parsed(value: bigint | undefined, format: string, text: unknown): bigint {
  if (value !== undefined) return value;
  throw new CelError(`Invalid ${format} ${String(text).slice(0, 64)}`);
}
