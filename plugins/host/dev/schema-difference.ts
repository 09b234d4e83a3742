import type { JsonSchema, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { isDeepStrictEqual } from 'node:util';

/** A field of a kind that the old and the new schema of the kind declare differently. */
export interface FieldChange {
  /** The path, such as `spec.name`; `[]` are the items of a list, `{}` the values of a map. */
  readonly field: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** The difference, such as `maxLength: 100 → 50`. */
  readonly what: string;
  /** The effect of the difference on stored objects. */
  readonly meaning: string;
}

interface Field {
  /** The keywords of the field's schema, without those of {@link notOfTheValue}. */
  readonly keywords: Readonly<Record<string, unknown>>;
  readonly required: boolean;
}

/** The maximum depth to which fields are compared. */
const maxDepth = 32;

/** Keywords that lead to other fields, or do not restrict a value. */
const notOfTheValue: readonly string[] = [
  '$ref',
  'properties',
  'required',
  'items',
  'additionalProperties',
  'title',
  'description',
  'example',
  'deprecated',
];

/**
 * Returns the fields in which two versions of a kind's schema differ. For an added or removed field, returns only this
 * field, and not the fields below it.
 */
export function schemaDifference(before: ModelDescriptor, after: ModelDescriptor): readonly FieldChange[] {
  const old = fieldsOf(before);
  const now = fieldsOf(after);
  const removed = outermost([...old.keys()].filter((field) => !now.has(field)));
  const added = outermost([...now.keys()].filter((field) => !old.has(field)));
  return [
    ...added.map((field) => additionOf(field, now)),
    ...removed.map((field): FieldChange => ({ field, change: 'removed', what: '', meaning: meanings.removed })),
    ...[...now].flatMap(([field, value]) => changeOf(field, old.get(field), value)),
  ];
}

// The effects of a changed schema on stored objects. A new schema changes no stored object; the server applies it at
// the object's next write.
const meanings = {
  removed: 'stored values are still read, and are removed at the next write of their object',
  optional: 'stored objects do not have this field',
  default: 'stored objects get the default at their next write',
  required: 'a write of a stored object is refused until the object has a value here',
  stricter: 'a stored value that does not fit is still read, and a write of its object is refused until the value fits',
} as const;

function additionOf(field: string, fields: ReadonlyMap<string, Field>): FieldChange {
  const { keywords = {}, required = false } = fields.get(field) ?? {};
  const type = typeof keywords['type'] === 'string' ? [keywords['type']] : [];
  const hasDefault = keywords['default'] !== undefined;
  const what = [
    ...type,
    required ? 'required' : 'optional',
    ...(hasDefault ? [`default ${show(keywords['default'])}`] : []),
  ];
  const meaning = hasDefault ? meanings.default : required ? meanings.required : meanings.optional;
  return { field, change: 'added', what: what.join(', '), meaning };
}

function changeOf(field: string, before: Field | undefined, after: Field): readonly FieldChange[] {
  if (before === undefined) return [];
  const names = [...new Set([...Object.keys(before.keywords), ...Object.keys(after.keywords)])];
  const keywords = names.filter((name) => !isDeepStrictEqual(before.keywords[name], after.keywords[name]));
  const what = keywords.map((name) => `${name}: ${show(before.keywords[name])} → ${show(after.keywords[name])}`);
  if (before.required !== after.required) what.push(after.required ? 'now required' : 'no longer required');
  if (what.length === 0) return [];
  return [{ field, change: 'changed', what: what.join(', '), meaning: meaningOf(keywords, before, after) }];
}

function meaningOf(keywords: readonly string[], before: Field, after: Field): string {
  if (keywords.some((name) => name !== 'default')) return meanings.stricter;
  const lacksDefault = after.keywords['default'] === undefined;
  if (after.required && lacksDefault && (!before.required || keywords.length > 0)) return meanings.required;
  return keywords.length > 0 && !lacksDefault ? 'applies to later writes' : 'nothing changes for stored objects';
}

function show(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value);
}

/** Returns the fields that are not below another field of the list. */
function outermost(fields: readonly string[]): readonly string[] {
  const isBelow = (field: string, other: string): boolean =>
    field.length > other.length && field.startsWith(other) && '.[{'.includes(field.charAt(other.length));
  return fields.filter((field) => !fields.some((other) => isBelow(field, other)));
}

function fieldsOf({ schemaName, components }: ModelDescriptor): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>();
  const collector = new FieldCollector(components, fields);
  collector.addProperties('', { $ref: `${prefix}${schemaName}` }, []);
  return fields;
}

const prefix = '#/components/schemas/';

/** Collects all fields of a schema. In a schema that contains itself, it stops where the schema would repeat. */
class FieldCollector {
  readonly #components: ModelDescriptor['components'];
  readonly #fields: Map<string, Field>;

  constructor(components: ModelDescriptor['components'], fields: Map<string, Field>) {
    this.#components = components;
    this.#fields = fields;
  }

  /**
   * Adds the fields of `schema`, which is the schema of the field `path`. `way` has an entry for each schema that
   * contains `schema`, from the root of the kind's schema: its name in `components`, or an empty text for a schema
   * without a name.
   */
  addProperties(path: string, schema: JsonSchema, way: readonly string[]): void {
    const { name, target } = this.#resolve(schema);
    if (way.length > maxDepth || (name !== undefined && way.includes(name))) return;
    const onward = [...way, name ?? ''];
    for (const [key, value] of Object.entries(target.properties ?? {})) {
      this.#add(path === '' ? key : `${path}.${key}`, value, { way: onward, required: target.required?.includes(key) });
    }
    if (target.items !== undefined) this.#add(`${path}[]`, target.items, { way: onward });
    if (typeof target.additionalProperties === 'object')
      this.#add(`${path}{}`, target.additionalProperties, { way: onward });
  }

  #add(
    field: string,
    schema: JsonSchema,
    { way, required = false }: { readonly way: readonly string[]; readonly required?: boolean | undefined },
  ): void {
    const { target } = this.#resolve(schema);
    const keywords = Object.fromEntries(Object.entries(target).filter(([name]) => !notOfTheValue.includes(name)));
    this.#fields.set(field, { keywords, required });
    this.addProperties(field, schema, way);
  }

  #resolve(schema: JsonSchema): { readonly name?: string; readonly target: JsonSchema } {
    const name = schema.$ref?.startsWith(prefix) === true ? schema.$ref.slice(prefix.length) : undefined;
    const target = name === undefined ? undefined : this.#components[name];
    return name === undefined || target === undefined ? { target: schema } : { name, target: { ...target, ...schema } };
  }
}
