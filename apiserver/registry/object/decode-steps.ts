/**
 * The approximate number of bytes of JSON that one step parses. A step takes at most 3 ms. The worst case is an object
 * in which no two fields have the same name.
 */
const stepBytes = 16 * 1024;

/** The number of bytes above which an object is parsed in several steps. */
export const severalStepsBytes: number = 2 * stepBytes;

/**
 * The number of bytes in which one step searches for the ends of members. A step takes 2 ms before V8 has compiled the
 * search, and less afterwards.
 */
const searchedBytes = 64 * 1024;

/**
 * Steps that yield only `undefined`. General `Steps` yield `long` when the work turns out to take long. These steps
 * need not tell that to callers, who know it from the size of the object.
 */
type DecodeSteps<R> = Generator<undefined, R, undefined>;

interface DecodeOptions {
  /** A function that freezes a value and everything in it. Without this function, nothing is frozen. */
  readonly freeze?: ((value: unknown) => unknown) | undefined;
  /**
   * The number of bytes after which a step ends. Until then, the step parses whole members, each with at most `most`
   * bytes, so it may parse about twice as many bytes. A member with more bytes than `most` is parsed in several steps,
   * but a string always in one. Default 16 KB.
   */
  readonly most?: number;
}

/**
 * Parses JSON in steps, with the result of JSON.parse: it parses long lists and objects part by part. For one object,
 * JSON.parse and freezing the result can take 80 ms. Throws SyntaxError.
 */
export function decodeSteps<T = unknown>(
  bytes: Buffer,
  { freeze, most = stepBytes }: DecodeOptions = {},
): DecodeSteps<T> {
  return readSteps({ bytes, freeze, most }, { from: 0, to: bytes.length }) as DecodeSteps<T>;
}

interface Text {
  readonly bytes: Buffer;
  readonly freeze: DecodeOptions['freeze'];
  readonly most: number;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** A part of a list or an object: some neighbouring members, or a single long member. */
interface Part extends Range {
  /**
   * Only for a single long member: the position at which its value begins. In a list, this is `from`. In an object, the
   * name of the member is before it.
   */
  readonly valueAt?: number;
}

function* readSteps(text: Text, range: Range): DecodeSteps<unknown> {
  yield;
  const opened = text.bytes[range.from];
  const closed = text.bytes[range.to - 1];
  // A part must have at least one member, but a list or object that has only white space has none. So a text with white
  // space after the opening bracket is parsed as a whole. The server's own JSON has no white space.
  const isLong = range.to - range.from > text.most && !isSpace(text.bytes[range.from + 1]);
  let whole: object | undefined;
  if (isLong && opened === openList && closed === closeList) whole = yield* listSteps(text, range);
  if (isLong && opened === openObject && closed === closeObject) whole = yield* objectSteps(text, range);
  // JSON.parse parses a short text as a whole. An invalid text is also parsed as a whole, so that JSON.parse throws its
  // SyntaxError.
  if (whole === undefined) return parsePart(text, textOf(text, range));
  return text.freeze === undefined ? whole : Object.freeze(whole);
}

/**
 * Parses a list in steps. Throws SyntaxError for some invalid texts, and returns undefined for the others, so that the
 * caller parses the text as a whole and JSON.parse throws its SyntaxError.
 */
function* listSteps(text: Text, range: Range): DecodeSteps<unknown[] | undefined> {
  const list: unknown[] = [];
  for (const part of partsOf(text, range)) {
    if (part === 'pause') {
      yield;
      continue;
    }
    if (part === undefined) return undefined;
    if (part.valueAt !== undefined) {
      list.push(yield* readSteps(text, part));
      continue;
    }
    const items = parsePart(text, `[${textOf(text, part)}]`) as unknown[];
    if (items.length === 0) return undefined;
    for (const item of items) list.push(item);
    yield;
  }
  return list;
}

/** Parses an object in steps. Treats invalid texts like {@link listSteps}. */
function* objectSteps(text: Text, range: Range): DecodeSteps<object | undefined> {
  const object = {};
  for (const part of partsOf(text, range)) {
    if (part === 'pause') {
      yield;
      continue;
    }
    if (part === undefined) return undefined;
    const { from, to, valueAt } = part;
    if (valueAt !== undefined) {
      const name: unknown = JSON.parse(textOf(text, { from, to: valueAt - 1 }));
      if (typeof name !== 'string') return undefined;
      setField(object, name, yield* readSteps(text, { from: valueAt, to }));
      continue;
    }
    const fields = Object.entries(parsePart(text, `{${textOf(text, part)}}`) as object);
    if (fields.length === 0) return undefined;
    for (const [name, value] of fields) setField(object, name, value);
    yield;
  }
  return object;
}

const [quote, comma, colon, backslash] = [34, 44, 58, 92];
const [openList, closeList, openObject, closeObject] = [91, 93, 123, 125];

/**
 * Yields the parts of the list or object that fills the range. Yields `pause` at intervals of {@link searchedBytes},
 * and undefined when the text is not valid.
 */
function* partsOf({ bytes, most }: Text, range: Range): Generator<Part | 'pause' | undefined> {
  const end = range.to - 1;
  const isList = bytes[range.from] === openList;
  let partFrom = range.from + 1;
  let memberFrom = partFrom;
  let valueAt = isList ? memberFrom : undefined;
  let depth = 0;
  let pauseAt = partFrom + searchedBytes;
  for (let at = partFrom; at <= end; at += 1) {
    if (at >= pauseAt) {
      pauseAt = at + searchedBytes;
      yield 'pause';
    }
    const code = at === end ? comma : (bytes[at] ?? 0);
    if (code === quote) at = endOfString(bytes, at);
    // The codes of { and } are those of [ and ] plus 32, so one comparison finds the brackets of objects and of lists.
    else if ((code | 32) === openObject) depth += 1;
    else if ((code | 32) === closeObject) depth -= 1;
    else if (code === colon && depth === 0) valueAt ??= at + 1;
    if (depth < 0 || at > end || (at === end && depth > 0)) {
      yield undefined;
      return;
    }
    if (code !== comma || depth > 0) continue;
    if (at - memberFrom > most) {
      if (memberFrom > partFrom) yield { from: partFrom, to: memberFrom - 1 };
      yield valueAt === undefined ? undefined : { from: memberFrom, to: at, valueAt };
      partFrom = at + 1;
    } else if (at - partFrom > most || at === end) {
      yield { from: partFrom, to: at };
      partFrom = at + 1;
    }
    memberFrom = at + 1;
    valueAt = isList ? memberFrom : undefined;
  }
}

function isSpace(code = 0): boolean {
  return code <= 32;
}

/** Returns the index of the closing quote; an index beyond the end of the bytes when there is no closing quote. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at;
}

function textOf({ bytes }: Text, { from, to }: Range): string {
  return bytes.toString('utf8', from, to);
}

function parsePart({ freeze }: Text, json: string): unknown {
  const value: unknown = JSON.parse(json);
  freeze?.(value);
  return value;
}

/** Sets a field as JSON.parse does, even a field that is named `__proto__`. */
function setField(object: object, name: string, value: unknown): void {
  if (name !== '__proto__') (object as Record<string, unknown>)[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
