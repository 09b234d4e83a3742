import { ApiError } from '@homeostat/controller-runtime/api';
import { constructFromEvents, CORE_SCHEMA, defineMappingTag, EVENT_ID, parseEvents, YAMLException } from 'js-yaml';
import type { Event } from 'js-yaml';
import type { BodyLimits } from './body-limits.ts';
import { copyAsJson } from './yaml-value.ts';

/** Most aliases in one document. People write a few; thousands are an attempt to make a small text large. */
const maxAliases = 100;

/** One document of a stream. */
export interface YamlDocument {
  /** From 1; documents without content count. */
  readonly document: number;
  /** Where its content begins, from 1. */
  readonly line: number;
  readonly value: unknown;
}

type Fields = Record<string, unknown>;

// As the library's own, except that names which are no strings are refused, where it would make strings of them.
const strictMapping = defineMappingTag<Fields>('tag:yaml.org,2002:map', {
  create: () => ({}),
  addPair: addField,
  has: (fields, name) => typeof name === 'string' && Object.hasOwn(fields, name),
  keys: (fields) => Object.keys(fields),
  get: (fields, name) => fields[String(name)],
  identify: () => false,
});

const schema = CORE_SCHEMA.withTags(strictMapping);

/**
 * Parses a body of one YAML document (core schema of YAML 1.2: no dates, and `yes` is a string) to a value that JSON can
 * hold. Refused: several documents, duplicate names and names that are no strings, cycles, NaN and infinity, more than
 * 100 aliases or what they make too large.
 * @throws ApiError BadRequest that names line and column, or the field; of the body it repeats names of tags and aliases at most.
 */
export function parseYaml(text: string, limits: BodyLimits): unknown {
  const documents = parseYamlDocuments(text, limits);
  const [first] = documents;
  if (first === undefined) throw new ApiError('BadRequest', 'the body holds no YAML document');
  if (documents.length > 1)
    throw new ApiError('BadRequest', `the body holds ${documents.length} YAML documents; send one`);
  return first.value;
}

/**
 * Parses a stream of YAML documents by the rules of {@link parseYaml}. Documents without content, as a trailing `---`
 * makes them, are left out.
 * @throws ApiError BadRequest
 */
export function parseYamlDocuments(text: string, limits: BodyLimits): readonly YamlDocument[] {
  const events = refuseOnError(() => parseEvents(text, { maxDepth: limits.maxDepth }));
  const values = refuseOnError(() => constructFromEvents(events, { source: text, schema, maxAliases }));
  const lines = contentLines(text, events);
  return values.flatMap((value, index) => {
    const line = lines[index];
    return line === undefined ? [] : [{ document: index + 1, line, value: copyAsJson(value, limits.maxDepth) }];
  });
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

/** Per document the line of its first node; undefined for a document without content. */
function contentLines(text: string, events: readonly Event[]): readonly (number | undefined)[] {
  const lineBreak = /\r\n|\r|\n/g;
  let line = 1;
  // Each break is looked at once: a stream can have hundreds of thousands of documents.
  let nextBreak = lineBreak.exec(text);
  return events.flatMap((event, index) => {
    if (event.type !== EVENT_ID.DOCUMENT) return [];
    const start = startOf(events[index + 1]);
    for (; nextBreak !== null && nextBreak.index < start; nextBreak = lineBreak.exec(text)) line += 1;
    return [start < 0 ? undefined : line];
  });
}

function startOf(event: Event | undefined): number {
  if (event === undefined) return -1;
  if (event.type === EVENT_ID.SCALAR) return event.valueStart;
  if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE) return event.start;
  return -1;
}

function addField(fields: Fields, name: unknown, value: unknown): string {
  if (typeof name !== 'string') return 'names of fields must be strings';
  if (name === '__proto__') return 'a field may not be named "__proto__"';
  fields[name] = value;
  return '';
}
