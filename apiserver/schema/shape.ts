import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { Identity } from './judge/distinct.ts';
import { componentOf, identityOfItems } from './judge/translate-schema.ts';

/**
 * The shape of a field. `anything`: the value stays unchanged. `metadata`: its fields are known by name, whatever the
 * schema says.
 */
export type FieldShape = Shape | 'anything' | 'metadata';

/** The structure of an object by its schema: the known fields, and their defaults. */
export interface Shape {
  readonly below: ShapesBelow;
  /**
   * How the items of a merged list (`x-kubernetes-list-type`) are distinguished; undefined when the list is one value.
   */
  readonly identity: Identity | undefined;
  /** True for an object that is one value, and is not merged field by field (`x-kubernetes-map-type: atomic`). */
  readonly isAtomic: boolean;
  /** True when unknown fields stay. */
  readonly preservesUnknown: boolean;
  readonly isNullable: boolean;
  /** The default; undefined when there is none. */
  readonly defaultValue: unknown;
  /** Characters of the default in JSON; 0 without one. */
  readonly defaultLength: number;
}

/** The shapes of the values below a value. */
export interface ShapesBelow {
  readonly properties: ReadonlyMap<string, FieldShape>;
  /** The shape of the fields that are not among the properties. */
  readonly additional: FieldShape | undefined;
  readonly items: Shape | undefined;
  /** The properties that have a default. */
  readonly defaults: readonly (readonly [name: string, shape: Shape])[];
}

/**
 * A schema that takes part in a shape; a default counts only where the schema always applies, not in a branch of anyOf.
 */
interface Source {
  readonly schema: JsonSchema;
  readonly isCertain: boolean;
}

/**
 * The maximum number of shapes of a model. Combinations of references and branches can be many more than schemas, but
 * no model that a person
 * writes needs more. A definition has no references, so its shapes are not more than its schemas.
 */
const maxShapes = 100_000;

/** Known in every resource, whatever its schema says. */
const envelope: readonly (readonly [string, FieldShape])[] = [
  ['apiVersion', 'anything'],
  ['kind', 'anything'],
  ['metadata', 'metadata'],
];

/**
 * Builds shapes of components. References, allOf, anyOf and oneOf are merged into the schema that holds them: a field
 * that any of them declares is known. Kubernetes requires the declaration outside of them instead, with the same
 * result. A shape reads the schemas below it when it is first used, since most objects reach a small part of a large
 * schema.
 */
export class ShapeBuilder {
  readonly #components: Readonly<Record<string, JsonSchema>>;
  readonly #numbers = new Map<JsonSchema, number>();
  readonly #shapes = new Map<string, LazyShape>();

  constructor(components: Readonly<Record<string, JsonSchema>>) {
    this.#components = components;
  }

  /** Returns the shape of a whole object; the fields of its envelope are known. */
  root(schema: JsonSchema): Shape {
    return this.shapeOf([{ schema: { ...schema, 'x-kubernetes-embedded-resource': true }, isCertain: true }]);
  }

  /** Yields every shape, even those that are not built yet. @throws Error for one that cannot be built. */
  *all(): Iterable<Shape> {
    // The iterator of a Map includes entries that are added meanwhile.
    for (const shape of this.#shapes.values()) {
      void shape.below;
      yield shape;
    }
  }

  /** Returns the shape of the schemas that apply to one value. */
  shapeOf(given: readonly Source[]): LazyShape {
    const sources = new Map<string, Source>();
    for (const source of given) this.#flatten(source, sources);
    const key = [...sources.keys()].join();
    const known = this.#shapes.get(key);
    if (known !== undefined) return known;
    if (this.#shapes.size >= maxShapes)
      throw new RangeError(`the references and branches of the schema make more than ${maxShapes} combinations`);
    const shape = new LazyShape(this, [...sources.values()]);
    this.#shapes.set(key, shape);
    return shape;
  }

  #keyOf({ schema, isCertain }: Source): string {
    const number = this.#numbers.get(schema) ?? this.#numbers.size;
    this.#numbers.set(schema, number);
    return isCertain ? `${number}` : `${number}?`;
  }

  #flatten(source: Source, into: Map<string, Source>): void {
    const { schema, isCertain } = source;
    const key = this.#keyOf(source);
    if (into.has(key)) return;
    into.set(key, source);
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
}

class LazyShape implements Shape {
  readonly identity: Identity | undefined;
  readonly isAtomic: boolean;
  readonly preservesUnknown: boolean;
  readonly isNullable: boolean;
  readonly defaultValue: unknown;
  readonly defaultLength: number;
  readonly #builder: ShapeBuilder;
  readonly #sources: readonly Source[];
  #below: ShapesBelow | undefined;

  constructor(builder: ShapeBuilder, sources: readonly Source[]) {
    const schemas = sources.map(({ schema }) => schema);
    this.#builder = builder;
    this.#sources = sources;
    this.identity = schemas.filter((schema) => schema['x-kubernetes-list-type'] !== undefined).map(identityOfItems)[0];
    this.isAtomic = schemas.some((schema) => schema['x-kubernetes-map-type'] === 'atomic');
    this.preservesUnknown = schemas.some((schema) => schema['x-kubernetes-preserve-unknown-fields'] === true);
    this.isNullable = schemas.some(({ nullable }) => nullable === true);
    this.defaultValue = sources.find(({ schema, isCertain }) => isCertain && schema.default !== undefined)?.schema
      .default;
    this.defaultLength = JSON.stringify(this.defaultValue)?.length ?? 0;
  }

  /** The schemas below are read when this is first used. */
  get below(): ShapesBelow {
    return (this.#below ??= shapesBelow(this.#sources, this.#builder));
  }
}

function shapesBelow(sources: readonly Source[], builder: ShapeBuilder): ShapesBelow {
  const items: Source[] = [];
  const additional: Source[] = [];
  const named = new Map<string, Source[]>();
  let isOpen = false;
  for (const { schema, isCertain } of sources) {
    for (const [name, child] of Object.entries(schema.properties ?? {})) {
      const source = { schema: child, isCertain };
      const same = named.get(name);
      if (same === undefined) named.set(name, [source]);
      else same.push(source);
    }
    if (schema.items !== undefined) items.push({ schema: schema.items, isCertain });
    if (schema.additionalProperties === true) isOpen = true;
    else if (typeof schema.additionalProperties === 'object')
      additional.push({ schema: schema.additionalProperties, isCertain });
  }
  const isResource = sources.some(({ schema }) => schema['x-kubernetes-embedded-resource'] === true);
  const properties = new Map([...shapesByName(named, builder), ...(isResource ? envelope : [])]);
  return {
    properties,
    items: items.length === 0 ? undefined : builder.shapeOf(items),
    additional: isOpen ? 'anything' : additional.length === 0 ? undefined : builder.shapeOf(additional),
    defaults: [...properties].filter(
      (entry): entry is [string, Shape] => typeof entry[1] === 'object' && entry[1].defaultValue !== undefined,
    ),
  };
}

function shapesByName(
  named: ReadonlyMap<string, readonly Source[]>,
  builder: ShapeBuilder,
): readonly (readonly [string, FieldShape])[] {
  if (named.has('__proto__')) throw new TypeError('a property may not be named "__proto__"');
  return Array.from(named, ([name, sources]) => [name, builder.shapeOf(sources)] as const);
}
