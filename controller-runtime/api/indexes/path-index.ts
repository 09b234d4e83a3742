import { distinctSorted } from './index-attribute.ts';
import { encodingOf } from './index-encoding.ts';
import type { IndexedType, IndexEncoding } from './index-encoding.ts';
import type { IndexAttribute } from '../model/index-spec.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import type { ApiObject } from '../object/object.ts';
import { referencedName } from '../schema/schema-reference.ts';

type Components = Readonly<Record<string, JsonSchema>>;

/** The type that the schema gives to the values at a path, and whether an object can have several of these values. */
interface Target {
  readonly type: IndexedType;
  /** True when the path leads through an array. */
  readonly multiValued: boolean;
}

/**
 * Makes the function of an index by field path, such as `spec.age` or `spec.ports.number` (`ports` may be an array).
 * The values are encoded by their type in the schema, so numbers, booleans and date-times sort by their values, not as
 * texts.
 * @throws RangeError for a path that cannot have an index; its message has the reason.
 */
export function pathAttribute<T extends ApiObject>(
  components: Components,
  root: string,
  path: string,
): IndexAttribute<T> {
  const segments = path.split('.');
  const { type, multiValued } = findTarget(components, components[root] ?? {}, segments);
  const encoding = encodingOf(type);
  return Object.freeze({
    multiValued,
    definition: definitionOf(path, type),
    valuesOf: (object: T): readonly string[] => distinctSorted(encodeAll(collect(object, segments), encoding, path)),
    encode: (literal: string): string => encoding.ofLiteral(literal),
  });
}

/**
 * Returns the text that identifies how an index computes the values at a path ({@link IndexAttribute.definition}).
 * Change the number in the text whenever this code returns other values for a path or a type: a server then does not
 * use the values that it stored before. An index on metadata.resourceVersion has no such text, because the field is
 * absent while the object is being written.
 */
function definitionOf(path: string, type: IndexedType): string | undefined {
  return path === 'metadata.resourceVersion' ? undefined : `path 1 ${type} ${path}`;
}

function findTarget(components: Components, root: JsonSchema, segments: readonly string[]): Target {
  let current = withoutReference(components, root);
  let multiValued = false;
  const walked: string[] = [];
  for (const segment of segments) {
    const next = childOf(current, segment);
    if (next === undefined)
      throw new RangeError(`${walked.length === 0 ? 'the model' : walked.join('.')} has no field "${segment}"`);
    walked.push(segment);
    current = withoutReference(components, next);
    while (current.type === 'array' && current.items !== undefined) {
      multiValued = true;
      current = withoutReference(components, current.items);
    }
  }
  return { type: indexedType(current, segments.join('.')), multiValued };
}

// Follows at most 100 references, so that the loop ends even for a schema that refers to itself. Such a schema is
// refused, but that check may run later.
function withoutReference(components: Components, schema: JsonSchema): JsonSchema {
  let current = schema;
  for (let hops = 0; current.$ref !== undefined && hops < 100; hops += 1) {
    current = components[referencedName(current.$ref) ?? ''] ?? {};
  }
  return current;
}

function childOf(schema: JsonSchema, segment: string): JsonSchema | undefined {
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, segment)) return schema.properties[segment];
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

function indexedType(schema: JsonSchema, path: string): IndexedType {
  const { type } = schema;
  if (type === undefined || type === 'object' || type === 'array') {
    throw new RangeError(
      `${path} holds ${type ?? 'values of no single type'}; an index needs a string, number, integer or boolean`,
    );
  }
  return type === 'string' && schema.format === 'date-time' ? 'date-time' : type;
}

const none: readonly unknown[] = [];

/**
 * Returns the values at the path from its segment `at` on. Arrays on the path contribute all of their items; absent and
 * null fields have no values.
 */
function collect(value: unknown, segments: readonly string[], at = 0): readonly unknown[] {
  if (value === undefined || value === null) return none;
  if (Array.isArray(value)) return value.flatMap((each) => collect(each, segments, at));
  const segment = segments[at];
  if (segment === undefined) return [value];
  if (typeof value !== 'object' || !Object.hasOwn(value, segment)) return none;
  return collect(Reflect.get(value, segment), segments, at + 1);
}

function encodeAll(values: readonly unknown[], encoding: IndexEncoding, path: string): readonly string[] {
  return values.map((value) => {
    try {
      return encoding.ofValue(value);
    } catch (error) {
      if (error instanceof Error) throw new TypeError(`index by path ${path}: ${error.message}`, { cause: error });
      throw error;
    }
  });
}
