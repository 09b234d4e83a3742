import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { CheckBudget } from './check-budget.ts';
import { canonicalJson, countValues } from './distinct.ts';
import type { Identity } from './distinct.ts';
import { formats } from './formats.ts';
import type { Format } from './formats.ts';
import { componentOf, identityOfItems, typesOf } from './translate-schema.ts';

/** A bit for each JSON type that a schema distinguishes; `other` is for values that are not JSON. */
const typeBits = {
  null: 1,
  boolean: 2,
  integer: 4,
  fraction: 8,
  string: 16,
  array: 32,
  object: 64,
  other: 128,
} as const;

const bitsByType: ReadonlyMap<string, number> = new Map(Object.entries(typeBits));

const anyType = 255;

/** Returns the bit of a value's type. 5.0 counts as an integer. */
export function typeBitOf(value: unknown): number {
  if (typeof value === 'string') return typeBits.string;
  if (typeof value === 'number') return Number.isInteger(value) ? typeBits.integer : typeBits.fraction;
  if (typeof value === 'boolean') return typeBits.boolean;
  if (typeof value !== 'object') return typeBits.other;
  if (value === null) return typeBits.null;
  return Array.isArray(value) ? typeBits.array : typeBits.object;
}

/** The subschemas that apply to the same value as the schema itself, and not to a field or an item of the value. */
export interface InPlace {
  readonly reference: SchemaNode | undefined;
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[] | undefined;
  readonly oneOf: readonly SchemaNode[] | undefined;
  readonly not: SchemaNode | undefined;
}

/**
 * The schemas of one model, in the form that validation uses: nodes. A node is created when a value first needs it. So
 * even a large schema costs no time at the start, and most objects need only a few of its nodes.
 */
export class SchemaNodes {
  readonly #components: Readonly<Record<string, JsonSchema>>;
  readonly #nodes = new Map<JsonSchema, SchemaNode>();

  constructor(components: Readonly<Record<string, JsonSchema>>) {
    this.#components = components;
  }

  of(schema: JsonSchema): SchemaNode {
    const known = this.#nodes.get(schema);
    if (known !== undefined) return known;
    const node = new SchemaNode(schema, this);
    this.#nodes.set(schema, node);
    return node;
  }

  /** Returns the node of a reference. @throws ReferenceError when the schema does not exist. */
  referenced(reference: string): SchemaNode {
    const name = componentOf(reference);
    const schema = Object.hasOwn(this.#components, name) ? this.#components[name] : undefined;
    if (schema === undefined) throw new ReferenceError(`there is no schema for the reference "${reference}"`);
    return this.of(schema);
  }
}

/**
 * One schema. It has a field for everything that a check reads for each value. Schemas are objects of many different
 * hidden classes, so the lookup of a keyword in them would take ten times as long.
 */
export class SchemaNode {
  readonly schema: JsonSchema;
  /** The allowed types as a bit mask: the sum of the bits of these types. */
  readonly types: number;
  readonly isNullable: boolean;
  readonly values: ValueSet | undefined;
  readonly constant: ValueSet | undefined;
  /** True when `minLength`, `maxLength`, `pattern` or the format limits strings. Other keywords do not count. */
  readonly judgesText: boolean;
  readonly format: Format | undefined;
  /**
   * True when `minimum`, `maximum`, one of their exclusive forms or `multipleOf` limits numbers. Other keywords do not
   * count.
   */
  readonly judgesNumbers: boolean;
  readonly required: readonly string[];
  /**
   * True when `properties`, `additionalProperties`, `minProperties` or `maxProperties` limits the fields of objects.
   * Other keywords do not count.
   */
  readonly judgesFields: boolean;
  readonly minProperties: number;
  readonly maxProperties: number;
  readonly isClosed: boolean;
  readonly isEmbedded: boolean;
  readonly minItems: number;
  readonly maxItems: number;
  readonly identity: Identity | undefined;
  /** The schema of all fields that `properties` does not name. */
  readonly additional: Lazy<SchemaNode> | undefined;
  readonly items: Lazy<SchemaNode> | undefined;
  readonly inPlace: Lazy<InPlace> | undefined;
  readonly #nodes: SchemaNodes;
  readonly #properties = new Map<string, SchemaNode>();

  constructor(schema: JsonSchema, nodes: SchemaNodes) {
    this.schema = schema;
    this.#nodes = nodes;
    this.isNullable = schema.nullable === true;
    this.types = typeBitsOf(schema) | (this.isNullable ? typeBits.null : 0);
    this.values = listOf(schema.enum) === undefined ? undefined : new ValueSet(schema.enum ?? []);
    this.constant = 'const' in schema ? new ValueSet([schema.const]) : undefined;
    this.format = schema.format === undefined ? undefined : formats.get(schema.format);
    this.judgesText = this.format !== undefined || textKeywords.some((keyword) => schema[keyword] !== undefined);
    this.judgesNumbers = numberKeywords.some((keyword) => schema[keyword] !== undefined);
    this.required = schema.required ?? [];
    this.judgesFields = fieldKeywords.some((keyword) => schema[keyword] !== undefined);
    this.minProperties = schema.minProperties ?? 0;
    this.maxProperties = schema.maxProperties ?? Infinity;
    this.isClosed = schema.additionalProperties === false;
    this.isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
    this.minItems = schema.minItems ?? 0;
    this.maxItems = schema.maxItems ?? Infinity;
    this.identity = identityOfItems(schema);
    const { additionalProperties, items } = schema;
    this.additional =
      typeof additionalProperties === 'object' ? new Lazy(() => nodes.of(additionalProperties)) : undefined;
    this.items = items === undefined ? undefined : new Lazy(() => nodes.of(items));
    this.inPlace = isInPlace(schema) ? new Lazy(() => inPlaceOf(schema, nodes)) : undefined;
  }

  /** Returns the node of a field that the schema declares in `properties`. */
  property(name: string): SchemaNode | undefined {
    return this.#properties.get(name) ?? this.#makeProperty(name);
  }

  #makeProperty(name: string): SchemaNode | undefined {
    const { properties } = this.schema;
    const schema = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (schema === undefined) return undefined;
    const node = this.#nodes.of(schema);
    this.#properties.set(name, node);
    return node;
  }
}

/** A value that is computed when it is first read. */
class Lazy<T> {
  readonly #make: () => T;
  #value: T | undefined;

  constructor(make: () => T) {
    this.#make = make;
  }

  get value(): T {
    return (this.#value ??= this.#make());
  }
}

function inPlaceOf({ $ref, allOf = [], anyOf, oneOf, not }: JsonSchema, nodes: SchemaNodes): InPlace {
  const nodeOf = (schema: JsonSchema): SchemaNode => nodes.of(schema);
  return {
    reference: $ref === undefined ? undefined : nodes.referenced($ref),
    allOf: allOf.map(nodeOf),
    anyOf: listOf(anyOf)?.map(nodeOf),
    oneOf: listOf(oneOf)?.map(nodeOf),
    not: not === undefined ? undefined : nodeOf(not),
  };
}

/** Returns a list of values or branches; undefined for an empty list, which counts as absent, as in Kubernetes. */
function listOf<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}

const fieldKeywords = ['properties', 'additionalProperties', 'minProperties', 'maxProperties'] as const;

const textKeywords = ['minLength', 'maxLength', 'pattern'] as const;

const numberKeywords = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;

function isInPlace({ $ref, allOf, anyOf, oneOf, not }: JsonSchema): boolean {
  return [$ref, allOf, anyOf, oneOf, not].some((part) => part !== undefined);
}

function typeBitsOf(schema: JsonSchema): number {
  const types = typesOf(schema);
  if (types.length === 0) return anyType;
  return types.reduce(
    (bits, type) => bits | (type === 'number' ? typeBits.integer | typeBits.fraction : bitOf(type)),
    0,
  );
}

function bitOf(type: string): number {
  return bitsByType.get(type) ?? 0;
}

/**
 * A set of JSON values that are looked up by hash, so that an enum of 100,000 values costs no more than an enum of two.
 */
class ValueSet {
  readonly #scalars: ReadonlySet<unknown>;
  /** The allowed values (such as those of an enum) that are objects or lists, each as JSON with sorted keys. */
  readonly #containers: ReadonlySet<string>;
  /**
   * The number of JSON values in the largest object or list of this ValueSet. {@link has} returns false for an object
   * or a list with more values, without a lookup.
   */
  readonly #largest: number;

  constructor(values: readonly unknown[]) {
    const containers = values.filter(isContainer);
    this.#scalars = new Set(values.filter((value) => !isContainer(value)));
    this.#containers = new Set(containers.map(canonicalJson));
    this.#largest = containers.reduce((most, value) => Math.max(most, countValues(value, Infinity)), 0);
  }

  /**
   * Returns true when the value is in the set; false when it is not, or when the budget is too small for the lookup.
   */
  has(value: unknown, budget: CheckBudget): boolean {
    if (!isContainer(value)) return this.#scalars.has(value);
    if (this.#largest === 0) return false;
    const count = countValues(value, this.#largest);
    return budget.spend(3 * count) && count <= this.#largest && this.#containers.has(canonicalJson(value));
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
