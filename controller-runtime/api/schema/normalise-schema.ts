import { envelopeFields } from './envelope.ts';
import { isPlainObject } from '../base/plain-object.ts';
import { quoteValue } from '../errors/field-cause.ts';
import type { JsonSchema } from './json-schema.ts';
import { ModelError } from '../errors/model-error.ts';
import { keywordNames, keywordOf } from './schema-keywords.ts';
import type { Keyword } from './schema-keywords.ts';
import { maxSchemaDepth, SchemaCounter } from './schema-limits.ts';
import { referenceTo } from './schema-reference.ts';
import { simplifySchema } from './simplify-schema.ts';
import { nearestKey, unknownKeyMessage } from '../base/unknown-key.ts';

type RawSchema = Readonly<Record<string, unknown>>;

/** The position of a schema in a declaration. */
interface Place {
  /** The class or component and the field, such as `PersonSpec.tags.items`. */
  readonly path: string;
  /** The enclosing schemas. A schema that is among its own ancestors is a cycle. */
  readonly ancestors: readonly unknown[];
  /** True below allOf, anyOf, oneOf or not, where a type is not required. */
  readonly isBranch: boolean;
}

/**
 * Converts an author's schema (plain JSON Schema, TypeBox, attributes of `@Schema`) to a schema with only known
 * keywords, and with references as `#/components/schemas/<name>`. A schema must have a type, unless a keyword such
 * as `$ref` or `allOf` takes the place of the type. The schemas in `$defs` and `definitions` become components.
 */
export class SchemaNormaliser {
  readonly #model: string;
  readonly #root: string;
  readonly #counter = new SchemaCounter();
  readonly #definitions = new Map<string, JsonSchema>();

  /** `root` is the name of the component to which the reference `#` leads. */
  constructor(model: string, root: string) {
    this.#model = model;
    this.#root = root;
  }

  /** The components that were found in `$defs` and `definitions` so far. */
  get definitions(): ReadonlyMap<string, JsonSchema> {
    return this.#definitions;
  }

  /**
   * Returns a schema with only known keywords, and with references as `#/components/schemas/<name>`.
   * @throws ModelError for a schema that breaks a rule; the error names `path` and the field below it.
   */
  normalise(schema: unknown, path: string): JsonSchema {
    return this.#visit(schema, { path, ancestors: [], isBranch: false });
  }

  #visit(schema: unknown, place: Place): JsonSchema {
    if (!isPlainObject(schema)) throw this.#error(place, `must be a schema, not ${quoteValue(schema)}`);
    if (place.ancestors.includes(schema)) throw this.#error(place, 'the schema contains itself; refer to it with $ref');
    if (place.ancestors.length >= maxSchemaDepth)
      throw this.#error(place, `schemas nest at most ${maxSchemaDepth} levels`);
    const tooMany = this.#counter.count();
    if (tooMany !== undefined) throw this.#error(place, tooMany);
    const simple = simplifySchema(schema);
    const inner: Place = { ...place, ancestors: [...place.ancestors, schema] };
    this.#define(simple, inner);
    const result: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(simple)) this.#copyKeyword(result, { name, value, place: inner });
    this.#sortRequired(result);
    if (!place.isBranch) this.#checkRequired(result, place);
    if (!place.isBranch) this.#checkTyped(result, place);
    return result;
  }

  #copyKeyword(result: Record<string, unknown>, entry: { name: string; value: unknown; place: Place }): void {
    const { name, value, place } = entry;
    if (value === undefined || name === '$defs' || name === 'definitions') return;
    const keyword = keywordOf(name);
    if (keyword === 'ignored') return;
    if (keyword === undefined) throw this.#error(place, `"${name}" is not a keyword Homeostat knows${hintOf(name)}`);
    result[name] = name === '$ref' ? this.#reference(value, place) : this.#keywordValue(keyword, entry);
  }

  #keywordValue(keyword: Keyword, entry: { name: string; value: unknown; place: Place }): unknown {
    const { name, value, place } = entry;
    if (keyword.holds === 'value') {
      if (!keyword.accepts(value)) {
        const problem = keyword.problemOf?.(value) ?? `${name} must be ${keyword.form}, not ${quoteText(value)}`;
        throw this.#error(place, problem);
      }
      return this.#jsonCopy(value, entry);
    }
    if (keyword.holds === 'schemaOrBoolean' && typeof value === 'boolean') return value;
    if (keyword.holds === 'namedSchemas') return this.#named(entry);
    if (keyword.holds === 'schemas') {
      if (!Array.isArray(value) || value.length === 0) throw this.#error(place, `${name} must be a list of schemas`);
      return value.map((each, index) =>
        this.#visit(each, { ...place, path: `${place.path}.${name}[${index}]`, isBranch: true }),
      );
    }
    return this.#visit(value, { ...place, path: `${place.path}.${name}`, isBranch: name === 'not' || place.isBranch });
  }

  #named(entry: { name: string; value: unknown; place: Place }): Record<string, JsonSchema> {
    const { name, value, place } = entry;
    if (!isPlainObject(value)) throw this.#error(place, `${name} must be an object of schemas`);
    const schemas = Object.entries(value).map(([key, each]): [string, JsonSchema] => {
      return [key, this.#visit(each, { ...place, path: `${place.path}.${key}` })];
    });
    return Object.fromEntries(schemas);
  }

  #define(schema: RawSchema, place: Place): void {
    for (const [name, definition] of Object.entries({
      ...asObject(schema['definitions']),
      ...asObject(schema['$defs']),
    })) {
      const normal = this.#visit(definition, { ...place, path: name, isBranch: false });
      const earlier = this.#definitions.get(name);
      if (earlier !== undefined && JSON.stringify(earlier) !== JSON.stringify(normal)) {
        throw this.#error(place, `two different schemas are named "${name}"`);
      }
      this.#definitions.set(name, normal);
    }
  }

  // Returns a reference as `#/components/schemas/<name>`. `#` leads to the root component; `#/$defs/X`,
  // `#/definitions/X`, and a bare `X` as TypeBox writes it, lead to the component X. Any other reference is returned
  // unchanged, and checked later.
  #reference(value: unknown, place: Place): string {
    if (typeof value !== 'string') throw this.#error(place, `$ref must be a string, not ${quoteText(value)}`);
    if (value === '#') return referenceTo(this.#root);
    const match = /^(?:#\/(?:\$defs|definitions)\/)?([A-Za-z0-9._-]+)$/.exec(value);
    return match === null ? value : referenceTo(match[1] ?? '');
  }

  // Sorts `required` in the order of the properties, so that the three ways to declare a model result in equal schemas.
  #sortRequired(schema: Record<string, unknown>): void {
    const { required, properties } = schema as JsonSchema;
    if (required === undefined) return;
    const order = Object.keys(properties ?? {});
    const known = order.filter((name) => required.includes(name));
    const all = [...known, ...required.filter((name) => !known.includes(name))];
    if (all.length === 0) delete schema['required'];
    else schema['required'] = all;
  }

  /**
   * Refuses a required field that the schema does not declare. The server would remove the field as unknown, so that no
   * object could be valid.
   */
  #checkRequired({ required = [], properties, ...rest }: JsonSchema, place: Place): void {
    if (properties === undefined || rest['x-kubernetes-preserve-unknown-fields'] === true) return;
    const isOpen = rest.additionalProperties !== undefined && rest.additionalProperties !== false;
    const isComposed = [rest.$ref, rest.allOf, rest.anyOf, rest.oneOf].some((part) => part !== undefined);
    if (isOpen || isComposed) return;
    const known = [...Object.keys(properties), ...(place.path === this.#root ? envelopeFields : [])];
    const unknown = required.find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw this.#error(
        place,
        `"required" names a property that the schema does not have: ${unknownKeyMessage(unknown, known)}`,
      );
  }

  #checkTyped(schema: JsonSchema, place: Place): void {
    const isFree =
      schema['x-kubernetes-preserve-unknown-fields'] === true || schema['x-kubernetes-int-or-string'] === true;
    const isComposed = [schema.$ref, schema.allOf, schema.anyOf, schema.oneOf, schema.not].some(
      (part) => part !== undefined,
    );
    if (schema.type === undefined && !isFree && !isComposed) {
      throw this.#error(place, 'has no type, and types are never guessed: give it a type, an enum or a class');
    }
    if (schema.type === 'array' && schema.items === undefined) throw this.#error(place, 'an array needs "items"');
    const hasContent = schema.properties !== undefined || schema.additionalProperties !== undefined;
    const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
    if (schema.type === 'object' && !hasContent && !isFree && !isComposed && !isEmbedded) {
      throw this.#error(
        place,
        'an object needs properties, additionalProperties, a class, or x-kubernetes-preserve-unknown-fields: without them its content would be pruned',
      );
    }
  }

  #jsonCopy(value: unknown, entry: { name: string; place: Place }): unknown {
    try {
      const text = JSON.stringify(value);
      if (text !== undefined) return JSON.parse(text);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    throw this.#error(entry.place, `${entry.name} must be a JSON value`);
  }

  #error(place: Place, rule: string): ModelError {
    return new ModelError(this.#model, place.path, rule);
  }
}

function hintOf(name: string): string {
  const near = nearestKey(name, keywordNames);
  return near === undefined ? '' : `; did you mean "${near}"?`;
}

function asObject(value: unknown): RawSchema {
  return isPlainObject(value) ? value : {};
}

function quoteText(value: unknown): string {
  return typeof value === 'object' && value !== null ? 'an object' : quoteValue(value);
}
