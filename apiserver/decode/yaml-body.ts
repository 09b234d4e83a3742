import { ApiError } from '@homeostat/controller-runtime/api';
import {
  constructFromEvents,
  CORE_SCHEMA,
  defineMappingTag,
  defineScalarTag,
  EVENT_ID,
  intCoreTag,
  parseEvents,
  YAMLException,
} from 'js-yaml';
import type { Event } from 'js-yaml';
import type { BodyLimits } from '../limits/body-limits.ts';
import { LineIndex } from './line-index.ts';
import { startOf } from './yaml-places.ts';
import { copyAsJson } from './yaml-value.ts';

/**
 * The maximum number of aliases in one document. People write a few; with thousands, an attacker tries to make a large
 * value from a small text.
 */
const maxAliases = 100;

/** One document of a stream. */
export interface YamlDocument {
  /** The number of the document, from 1. Documents without content count, too. */
  readonly document: number;
  /** The number of the line on which the content of the document begins, from 1. */
  readonly line: number;
  readonly value: unknown;
}

type Fields = Record<string, unknown>;

// This tag of mappings is like the library's own, but refuses names that are not strings. The library would convert
// them to strings.
const strictMapping = defineMappingTag<Fields>('tag:yaml.org,2002:map', {
  create: () => ({}),
  addPair: addField,
  has: (fields, name) => typeof name === 'string' && Object.hasOwn(fields, name),
  keys: (fields) => Object.keys(fields),
  get: (fields, name) => fields[String(name)],
  identify: () => false,
});

/** The tag of integers. Octal digits after a leading 0 are octal, as in Kubernetes: `0755` is 493, but `089` is 89. */
const octalTag = defineScalarTag(intCoreTag.tagName, {
  ...intCoreTag,
  resolve: (source, ...more) =>
    /^[-+]?0[0-7]+$/.test(source) ? Number.parseInt(source, 8) : intCoreTag.resolve(source, ...more),
});

const schema = CORE_SCHEMA.withTags(strictMapping, octalTag);

/**
 * Parses a body of one YAML document (core schema of YAML 1.2: no dates, and `yes` is a string; but `0755` is octal) to
 * a value that JSON can represent. It refuses several documents, duplicate names and names that are not strings,
 * cycles, NaN and infinity, more than 100 aliases, and documents that aliases make too large.
 * @throws ApiError BadRequest that names line and column, or the field; from the body, it quotes only names of fields,
 * tags and aliases.
 */
export function parseYaml(text: string, limits: BodyLimits): unknown {
  const documents = parseYamlDocuments(text, limits);
  const [first] = documents;
  if (first === undefined) throw new ApiError('BadRequest', 'the body has no YAML document');
  if (documents.length > 1)
    throw new ApiError('BadRequest', `the body has ${documents.length} YAML documents; send one`);
  return first.value;
}

/**
 * Parses a stream of YAML documents by the rules of {@link parseYaml}. Documents without content, such as one after a
 * trailing `---`, are left out.
 * @throws ApiError BadRequest
 */
export function parseYamlDocuments(text: string, limits: BodyLimits): readonly YamlDocument[] {
  const events = parseYamlEvents(text, limits);
  const values = constructYaml(text, events);
  const lines = contentLines(text, events);
  return values.flatMap((value, index) => {
    const line = lines[index];
    return line === undefined ? [] : [{ document: index + 1, line, value: copyAsJson(value, limits.maxDepth) }];
  });
}

/**
 * The first step of parsing: parses the syntax. @throws ApiError BadRequest, whose cause is a YAMLException with the
 * position of the mistake.
 */
export function parseYamlEvents(text: string, limits: BodyLimits): Event[] {
  return refuseOnError(() => parseEvents(text, { maxDepth: limits.maxDepth }));
}

/**
 * The second step of parsing: returns a value for each document. In this value, an alias is still the same object as
 * the value to which it refers. @throws as {@link parseYamlEvents}.
 */
export function constructYaml(text: string, events: Event[]): readonly unknown[] {
  return refuseOnError(() => constructFromEvents(events, { source: text, schema, maxAliases }));
}

function refuseOnError<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof YAMLException)) throw new ApiError('BadRequest', 'not valid YAML', { cause });
    const { mark, reason } = cause;
    const place = mark === undefined ? '' : ` at line ${mark.line + 1}, column ${mark.column + 1}`;
    throw new ApiError('BadRequest', `not valid YAML: ${reason.slice(0, 200)}${place}`, { cause });
  }
}

/** Returns the line of the first node of each document; undefined for a document without content. */
function contentLines(text: string, events: readonly Event[]): readonly (number | undefined)[] {
  const lines = new LineIndex(text);
  return events.flatMap((event, index) => {
    if (event.type !== EVENT_ID.DOCUMENT) return [];
    const start = startOf(events[index + 1]);
    return [start === undefined ? undefined : lines.lineAt(start)];
  });
}

function addField(fields: Fields, name: unknown, value: unknown): string {
  if (typeof name !== 'string') return 'names of fields must be strings';
  if (name === '__proto__') return 'a field may not be named "__proto__"';
  fields[name] = value;
  return '';
}
