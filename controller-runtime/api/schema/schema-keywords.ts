import type { JsonSchema } from './json-schema.ts';
import { isPlainObject } from '../base/plain-object.ts';
import { brokenRules } from './schema-rules.ts';

/** A keyword with the form of its value: one schema, several schemas, or a plain value that `accepts` checks. */
export type Keyword =
  | { readonly holds: 'schema' | 'schemas' | 'namedSchemas' | 'schemaOrBoolean' }
  | {
      readonly holds: 'value';
      readonly accepts: (value: unknown) => boolean;
      readonly form: string;
      /**
       * Returns the problem of a value that is not accepted. It is for keywords where a description of the expected
       * form would not explain the problem.
       */
      readonly problemOf?: (value: unknown) => string | undefined;
    };

const text: Keyword = { holds: 'value', accepts: (value) => typeof value === 'string', form: 'a string' };
const flag: Keyword = { holds: 'value', accepts: (value) => typeof value === 'boolean', form: 'true or false' };
const finite: Keyword = { holds: 'value', accepts: (value) => Number.isFinite(value), form: 'a number' };
const count: Keyword = { holds: 'value', accepts: (value) => isCount(value), form: 'a whole number of at least 0' };
const anything: Keyword = { holds: 'value', accepts: () => true, form: 'any value' };
const strings: Keyword = { holds: 'value', accepts: (value) => isStrings(value), form: 'a list of distinct strings' };
const positive: Keyword = {
  holds: 'value',
  accepts: (value) => Number.isFinite(value) && Number(value) > 0,
  form: 'a number above 0',
};
const values: Keyword = {
  holds: 'value',
  accepts: (value) => Array.isArray(value) && value.length > 0,
  form: 'a list with at least one value',
};
// exclusiveMinimum and exclusiveMaximum have two forms. A boolean makes `minimum` or `maximum` exclusive (draft 4,
// OpenAPI 3.0); a number is the bound itself (2020-12, OpenAPI 3.1).
const bound: Keyword = {
  holds: 'value',
  accepts: (value) => typeof value === 'boolean' || Number.isFinite(value),
  form: 'a number, or true or false',
};

/**
 * The keywords that the server understands. The keywords for which {@link keywordOf} returns `ignored` are removed,
 * because they have no rule. Any other keyword is refused with an error that names it, because the server would not
 * enforce its rule.
 */
const schemaKeywords: Readonly<Record<keyof JsonSchema, Keyword>> = {
  $ref: text,
  type: oneOf('object', 'array', 'string', 'integer', 'number', 'boolean'),
  title: text,
  description: text,
  properties: { holds: 'namedSchemas' },
  required: strings,
  additionalProperties: { holds: 'schemaOrBoolean' },
  minProperties: count,
  maxProperties: count,
  items: { holds: 'schema' },
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
  minLength: count,
  maxLength: count,
  pattern: text,
  format: text,
  minimum: finite,
  maximum: finite,
  exclusiveMinimum: bound,
  exclusiveMaximum: bound,
  multipleOf: positive,
  enum: values,
  const: anything,
  default: anything,
  nullable: flag,
  allOf: { holds: 'schemas' },
  anyOf: { holds: 'schemas' },
  oneOf: { holds: 'schemas' },
  not: { holds: 'schema' },
  example: anything,
  deprecated: flag,
  'x-kubernetes-preserve-unknown-fields': flag,
  'x-kubernetes-int-or-string': flag,
  'x-kubernetes-embedded-resource': flag,
  'x-kubernetes-list-type': oneOf('atomic', 'set', 'map'),
  'x-kubernetes-list-map-keys': strings,
  'x-kubernetes-map-type': oneOf('granular', 'atomic'),
  'x-kubernetes-validations': {
    holds: 'value',
    accepts: (value) => brokenRules(value) === undefined,
    form: 'a list of rules',
    problemOf: brokenRules,
  },
};

/** The names of all keywords. */
export const keywordNames: readonly string[] = Object.freeze(Object.keys(schemaKeywords));

// Keywords that only describe a value and check nothing. They are removed without an error.
const silentKeywords = new Set([
  '$id',
  '$schema',
  '$comment',
  'examples',
  'readOnly',
  'writeOnly',
  'externalDocs',
  'xml',
]);

const keywordsByName: ReadonlyMap<string, Keyword> = new Map(Object.entries(schemaKeywords));

/**
 * Returns the form of a keyword's value; `ignored` for a keyword that only describes, and for an extension (`x-…` or
 * `~…`, but not `x-kubernetes-…`); undefined for an unknown keyword.
 */
export function keywordOf(name: string): Keyword | 'ignored' | undefined {
  const keyword = keywordsByName.get(name);
  if (keyword !== undefined) return keyword;
  const isExtension = name.startsWith('x-') && !name.startsWith('x-kubernetes-');
  return isExtension || name.startsWith('~') || silentKeywords.has(name) ? 'ignored' : undefined;
}

function oneOf(...allowed: readonly string[]): Keyword {
  return { holds: 'value', accepts: (value) => allowed.includes(String(value)), form: `one of ${allowed.join(', ')}` };
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isStrings(value: unknown): boolean {
  return (
    Array.isArray(value) && value.every((each) => typeof each === 'string') && new Set(value).size === value.length
  );
}

/**
 * Returns the schemas directly below a schema, each with its place in this schema: `age` for a property `age`, `items`,
 * or `allOf[0]`.
 */
export function childSchemas(
  schema: Readonly<Record<string, unknown>>,
): readonly (readonly [place: string, child: unknown])[] {
  return Object.entries(schema).flatMap(([name, value]): (readonly [string, unknown])[] => {
    const keyword = keywordOf(name);
    if (keyword === undefined || keyword === 'ignored' || keyword.holds === 'value') return [];
    if (keyword.holds === 'schemaOrBoolean' && typeof value === 'boolean') return [];
    if (keyword.holds === 'schemas')
      return Array.isArray(value) ? value.map((each, index) => [`${name}[${index}]`, each]) : [];
    if (keyword.holds === 'namedSchemas') {
      return isPlainObject(value) ? Object.entries(value).map(([key, each]) => [key, each]) : [];
    }
    return [[name, value]];
  });
}
