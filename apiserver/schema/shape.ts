import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { Identity } from './judge/distinct.ts';
import { componentOf, identityOfItems } from './judge/translate-schema.ts';

/**
 * The shape of a field. `anything`: the server prunes no fields in the value, and adds no defaults to it. `metadata`:
 * the value is the metadata of an object, whose field names are fixed, whatever the schema says.
 */
export type FieldShape = Shape | 'anything' | 'metadata';

/** The structure that a schema describes: the known fields, and their defaults. */
export interface Shape {
  readonly below: ShapesBelow;
  /**
   * The identity of the items of a list that is merged item by item (`x-kubernetes-list-type`); undefined when the list
   * counts as one value.
   */
  readonly identity: Identity | undefined;
  /**
   * True for an object that counts as one value, and is not merged field by field (`x-kubernetes-map-type: atomic`).
   */
  readonly isAtomic: boolean;
  /** True when pruning keeps unknown fields. */
  readonly preservesUnknown: boolean;
  readonly isNullable: boolean;
  /** The default of the value; undefined when there is none. */
  readonly defaultValue: unknown;
  /** The number of characters of the default in JSON; 0 without a default. */
  readonly defaultLength: number;
}

/** The shapes of the fields and items of a value. */
export interface ShapesBelow {
  readonly properties: ReadonlyMap<string, FieldShape>;
  /** The shape of the fields that are not among the properties. */
  readonly additional: FieldShape | undefined;
  readonly items: Shape | undefined;
  /** The properties that have a default. */
  readonly defaults: readonly (readonly [name: string, shape: Shape])[];
}

/**
 * A schema from which a shape is built. Its default counts only if the schema always applies, and not if it is a branch
 * of anyOf or oneOf.
 */
interface Source {
  readonly schema: JsonSchema;
  readonly isCertain: boolean;
}

/**
 * The maximum number of {@link Shape} objects that are built for a model. The server builds a shape for each
 * combination of schemas that apply to the same field, by `$ref`, `allOf`, `anyOf` or `oneOf`. There can be many more
 * combinations than schemas, because `$ref` can make one schema a part of many combinations. But no model that a person
 * writes needs more than this maximum. Without `$ref`, each schema is a part of only one combination. Therefore a
 * CustomResourceDefinition, which has no `$ref`, has at most as many shapes as schemas.
 */
const maxShapes = 100_000;

/** The fields that are known in every resource, whatever its schema says. */
const envelope: readonly (readonly [string, FieldShape])[] = [
  ['apiVersion', 'anything'],
  ['kind', 'anything'],
  ['metadata', 'metadata'],
];

/**
 * Builds the shapes of schemas, whose references name schemas in `components`. References, allOf, anyOf and oneOf are
 * merged into the schema that contains them, so a field that any of them declares is known. Kubernetes instead requires
 * that the containing schema declares each such field, so for a schema that Kubernetes accepts, the known fields are
 * the same as in Kubernetes. A shape reads the schemas of its fields when it is first used, because most objects need
 * only a small part of a large schema.
 */
export class ShapeBuilder {
  readonly #components: Readonly<Record<string, JsonSchema>>;
  readonly #numbers = new Map<JsonSchema, number>();
  readonly #shapes = new Map<string, LazyShape>();

  constructor(components: Readonly<Record<string, JsonSchema>>) {
    this.#components = components;
  }

  /** Returns the shape of a whole object, in which apiVersion, kind and metadata are known. */
  root(schema: JsonSchema): Shape {
    return this.shapeOf([{ schema: { ...schema, 'x-kubernetes-embedded-resource': true }, isCertain: true }]);
  }

  /** Yields all shapes, and builds those that are not built yet. @throws Error for a shape that cannot be built. */
  *all(): Iterable<Shape> {
    // `shape.below` may add shapes to the Map. This loop visits them, too: the iterator of a Map includes entries that
    // are added during the loop.
    for (const shape of this.#shapes.values()) {
      void shape.below;
      yield shape;
    }
  }

  /** Returns the shape of a value to which all these schemas apply. */
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

  /** The shapes of the fields and items, which are built when this property is first read. */
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
