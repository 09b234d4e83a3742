import { isApiError } from '@homeostat/controller-runtime/api';
import { EVENT_ID, YAMLException } from 'js-yaml';
import type { Event } from 'js-yaml';
import type { BodyLimits } from '../limits/body-limits.ts';
import { LineIndex } from './line-index.ts';
import { constructYaml, parseYamlEvents } from './yaml-body.ts';
import type { YamlDocument } from './yaml-body.ts';
import { YamlPlaces } from './yaml-places.ts';
import { copyAsJson } from './yaml-value.ts';

/** A document with the lines of its fields. */
export interface LocatedYamlDocument extends YamlDocument {
  /**
   * Returns the line of a field such as `spec.items[1].b`. For an absent field, returns the line of the nearest field
   * around it.
   */
  readonly lineOf: (field: string) => number;
}

/** A document that cannot be read. */
export interface YamlMistake {
  /** The number of the document, from 1. */
  readonly document: number;
  /** The line of the mistake in the file, from 1. */
  readonly line: number;
  /** The description of the mistake, without its line. For a mistake in the syntax, it names the column. */
  readonly message: string;
}

/**
 * Reads a stream of YAML documents by the rules for the body of a request. Each document is read separately, so that a
 * mistake in one does not hide the others. Documents without content are left out.
 */
export function readYamlDocuments(text: string, limits: BodyLimits): readonly (LocatedYamlDocument | YamlMistake)[] {
  const whole = readPart({ text, firstLine: 1, firstDocument: 1 }, limits);
  if (!whole.isBroken) return whole.read;
  const all: (LocatedYamlDocument | YamlMistake)[] = [];
  let firstDocument = 1;
  for (const part of partsOf(text)) {
    const { read, count } = readPart({ ...part, firstDocument }, limits);
    all.push(...read);
    firstDocument += count;
  }
  return all;
}

interface Part {
  readonly text: string;
  readonly firstLine: number;
}

interface PartRead {
  readonly read: readonly (LocatedYamlDocument | YamlMistake)[];
  /** The number of documents in the part, including those without content. */
  readonly count: number;
  /** True when this part of the YAML text has a syntax error, so that the documents in the part are unknown. */
  readonly isBroken: boolean;
}

/** Splits a text into parts. Each line that begins with `---` begins a new part, even inside of a value. */
function partsOf(text: string): readonly Part[] {
  const lines = new LineIndex(text);
  const starts = Array.from(text.matchAll(/^---(?=\s|$)/gm), ({ index }) => index).filter((start) => start > 0);
  return [0, ...starts].map((start, index) => ({
    text: text.slice(start, starts[index]),
    firstLine: lines.lineAt(start),
  }));
}

function readPart(part: Part & { readonly firstDocument: number }, limits: BodyLimits): PartRead {
  const { text, firstLine, firstDocument } = part;
  const reader = new DocumentReader(part, limits);
  let documents: readonly Event[][];
  try {
    documents = splitDocuments(parseYamlEvents(text, limits));
  } catch (error) {
    const mistake = { document: firstDocument, ...mistakeOf(error, firstLine, () => firstLine) };
    return { read: [mistake], count: 1, isBroken: true };
  }
  const read = documents.map((events, index) => reader.read(events, firstDocument + index));
  return { read: read.filter((each) => each !== undefined), count: documents.length, isBroken: false };
}

class DocumentReader {
  readonly #part: Part;
  readonly #limits: BodyLimits;
  readonly #lines: LineIndex;

  constructor(part: Part, limits: BodyLimits) {
    this.#part = part;
    this.#limits = limits;
    this.#lines = new LineIndex(part.text, part.firstLine);
  }

  /** Reads a document; returns undefined when it has no content. */
  read(events: Event[], document: number): LocatedYamlDocument | YamlMistake | undefined {
    const { text, firstLine } = this.#part;
    const places = new YamlPlaces(text, events);
    const { start } = places;
    if (start === undefined) return undefined;
    const lineOf = (field: string): number => this.#lines.lineAt(places.offsetOf(field) ?? start);
    try {
      const [value] = constructYaml(text, events);
      return { document, line: this.#lines.lineAt(start), value: copyAsJson(value, this.#limits.maxDepth), lineOf };
    } catch (error) {
      return { document, ...mistakeOf(error, firstLine, lineOf) };
    }
  }
}

function splitDocuments(events: readonly Event[]): readonly Event[][] {
  const documents: Event[][] = [];
  for (const event of events) {
    if (event.type === EVENT_ID.DOCUMENT) documents.push([event]);
    else documents.at(-1)?.push(event);
  }
  return documents;
}

/**
 * Converts an error to a mistake. The line of the mistake comes from the position of a syntax error, or from the field
 * whose value JSON cannot represent.
 */
function mistakeOf(
  error: unknown,
  firstLine: number,
  lineOf: (field: string) => number,
): Pick<YamlMistake, 'line' | 'message'> {
  if (!isApiError(error)) throw error;
  const { cause, causes, message } = error;
  if (!(cause instanceof YAMLException) || cause.mark === undefined)
    return { line: lineOf(causes[0]?.field ?? ''), message };
  const { line, column } = cause.mark;
  return { line: firstLine + line, message: `not valid YAML: ${cause.reason.slice(0, 200)}, at column ${column + 1}` };
}
