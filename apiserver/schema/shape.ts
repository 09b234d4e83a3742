import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { Identity } from './distinct.ts';
import { componentOf, identityOfItems } from './translate-schema.ts';

/** `anything`: it stays as it is. `metadata`: its fields are known by their names, whatever the schema says. */
export type FieldShape = Shape | 'anything' | 'metadata';

/** What a schema says of an object's structure: which fields are known, and what they are when they are absent. */
export interface Shape {
  readonly properties: ReadonlyMap<string, FieldShape>;
  /** Of the fields that are not among the properties. */
  readonly additional: FieldShape | undefined;
  readonly items: Shape | undefined;
  /** How the items of a list that is merged (`x-kubernetes-list-type`) are told apart; undefined: the list is one value. */
  readonly identity: Identity | undefined;
  /** An object is one value, and not merged field by field (`x-kubernetes-map-type: atomic`). */
  readonly isAtomic: boolean;
  /** Fields that are not known stay. */
  readonly preservesUnknown: boolean;
  readonly isNullable: boolean;
  /** Undefined: none. */
  readonly defaultValue: unknown;
  /** The properties that have a default. */
  readonly defaults: readonly (readonly [name: string, shape: Shape])[];
}

/** A schema that takes part in a shape; a default counts only where the schema holds for sure, not in a branch of anyOf. */
interface Source {
  readonly schema: JsonSchema;
  readonly isCertain: boolean;
}

type MutableShape = { -readonly [K in keyof Shape]: Shape[K] };

/** Combinations of schemas can be many; a model that needs more shapes than this is not one that people write. */
const maxShapes = 10_000;

/** Known in every resource, and not shaped by its schema. */
const envelope: readonly (readonly [string, FieldShape])[] = [
  ['apiVersion', 'anything'],
  ['kind', 'anything'],
  ['metadata', 'metadata'],
];

/**
 * Builds shapes of components. References, allOf, anyOf and oneOf are merged into the schema that holds them: a field that
 * any of them declares is known. Kubernetes asks for the declaration outside of them instead, and gets the same result.
 */
export class ShapeBuilder {
  readonly #components: Readonly<Record<string, JsonSchema>>;
  readonly #numbers = new Map<JsonSchema, number>();
  readonly #shapes = new Map<string, Shape>();

  constructor(components: Readonly<Record<string, JsonSchema>>) {
    this.#components = components;
  }

  /** The shape of a whole object; its envelope is known. */
  root(schema: JsonSchema): Shape {
    return this.#build([{ schema: { ...schema, 'x-kubernetes-embedded-resource': true }, isCertain: true }]);
  }

  /** Every shape built so far. */
  get all(): Iterable<Shape> {
    return this.#shapes.values();
  }

  #build(given: readonly Source[]): Shape {
    const sources: Source[] = [];
    for (const source of given) this.#flatten(source, sources);
    const key = sources.map((source) => this.#keyOf(source)).join();
    const known = this.#shapes.get(key);
    if (known !== undefined) return known;
    if (this.#shapes.size >= maxShapes)
      throw new RangeError(`the schema has more than ${maxShapes} combinations of branches`);
    const shape = emptyShape(sources.map(({ schema }) => schema));
    // Known before it is filled: that ends self-reference.
    this.#shapes.set(key, shape);
    this.#fill(shape, sources);
    return shape;
  }

  #keyOf({ schema, isCertain }: Source): string {
    const number = this.#numbers.get(schema) ?? this.#numbers.size;
    this.#numbers.set(schema, number);
    return isCertain ? `${number}` : `${number}?`;
  }

  #flatten(source: Source, into: Source[]): void {
    const { schema, isCertain } = source;
    if (into.some((known) => known.schema === schema && known.isCertain === isCertain)) return;
    into.push(source);
    const { $ref, allOf = [], anyOf = [], oneOf = [] } = schema;
    if ($ref !== undefined) this.#flatten({ schema: this.#resolve($ref), isCertain }, into);
    for (const branch of allOf) this.#flatten({ schema: branch, isCertain }, into);
    for (const branch of [...anyOf, ...oneOf]) this.#flatten({ schema: branch, isCertain: false }, into);
  }

  #resolve(reference: string): JsonSchema {
    const schema = Object.hasOwn(this.#components, componentOf(reference))
      ? this.#components[componentOf(reference)]
      : undefined;
    if (schema === undefined) throw new ReferenceError(`there is no schema for the reference "${reference}"`);
    return schema;
  }

  #fill(shape: MutableShape, sources: readonly Source[]): void {
    const properties = new Map<string, Source[]>();
    const items: Source[] = [];
    const additional: Source[] = [];
    for (const { schema, isCertain } of sources) {
      for (const [name, child] of Object.entries(schema.properties ?? {})) {
        const same = properties.get(name) ?? [];
        properties.set(name, [...same, { schema: child, isCertain }]);
      }
      if (schema.items !== undefined) items.push({ schema: schema.items, isCertain });
      if (typeof schema.additionalProperties === 'object')
        additional.push({ schema: schema.additionalProperties, isCertain });
      if (shape.defaultValue === undefined && isCertain) shape.defaultValue = schema.default;
    }
    const isResource = sources.some(({ schema }) => schema['x-kubernetes-embedded-resource'] === true);
    shape.properties = new Map([...this.#buildNamed(properties), ...(isResource ? envelope : [])]);
    if (items.length > 0) shape.items = this.#build(items);
    if (additional.length > 0 && shape.additional === undefined) shape.additional = this.#build(additional);
    shape.defaults = [...shape.properties].filter(
      (entry): entry is [string, Shape] => typeof entry[1] === 'object' && entry[1].defaultValue !== undefined,
    );
  }

  #buildNamed(properties: ReadonlyMap<string, readonly Source[]>): ReadonlyMap<string, FieldShape> {
    const built = new Map<string, FieldShape>();
    for (const [name, sources] of properties) {
      if (name === '__proto__') throw new TypeError('a property may not be named "__proto__"');
      built.set(name, this.#build(sources));
    }
    return built;
  }
}

function emptyShape(schemas: readonly JsonSchema[]): MutableShape {
  return {
    properties: new Map(),
    additional: schemas.some(({ additionalProperties }) => additionalProperties === true) ? 'anything' : undefined,
    items: undefined,
    identity: schemas.filter((schema) => schema['x-kubernetes-list-type'] !== undefined).map(identityOfItems)[0],
    isAtomic: schemas.some((schema) => schema['x-kubernetes-map-type'] === 'atomic'),
    preservesUnknown: schemas.some((schema) => schema['x-kubernetes-preserve-unknown-fields'] === true),
    isNullable: schemas.some(({ nullable }) => nullable === true),
    defaultValue: undefined,
    defaults: [],
  };
}
