import { isUtf8 } from 'node:buffer';
import { ApiError, isJsonObject } from '@homeostat/controller-runtime/api';
import { decodeProtobufObject } from '../protobuf/decode-object.ts';
import type { Message } from '../protobuf/message.ts';
import { objectLimits, uncountedLength } from '../limits/body-limits.ts';
import type { BodyLimits } from '../limits/body-limits.ts';
import { checkCounts, NodeCount } from '../limits/count-nodes.ts';
import { describeJsonProblem } from './json-problem.ts';
import { hasLoneSurrogate } from './json-value.ts';
import { parseYaml } from './yaml-body.ts';

/** The format of a body. `applied`: the body of an apply, which is JSON or YAML. A Message means protobuf. */
export type BodyFormat = 'json' | 'yaml' | 'applied' | Message;

/** Returns the value of a body, within the limits of objects. @throws ApiError BadRequest, RequestEntityTooLarge */
export function decodeBody(bytes: Buffer, format: BodyFormat): unknown {
  if (typeof format !== 'string') return withinLimits(decodeProtobufObject(format, bytes));
  const text = textOf(bytes);
  if (format === 'json') return parseJson(text, objectLimits);
  return format === 'yaml' ? parseWholeYaml(text) : parseApplied(text);
}

/** Returns the text of a body. @throws ApiError BadRequest for bytes that are not UTF-8. */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ApiError('BadRequest', 'the body is not valid UTF-8');
  return bytes.toString('utf8');
}

/** Parses JSON or YAML. It tries JSON first, because most clients send JSON, and JSON is faster to parse. */
function parseApplied(text: string): unknown {
  if (!text.trimStart().startsWith('{')) return parseWholeYaml(text);
  try {
    return parseJson(text, objectLimits);
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'RequestEntityTooLarge') throw error;
    // A text in braces that is not JSON may be YAML. If it is not YAML either, the YAML parser reports the position of
    // the mistake.
    return parseWholeYaml(text);
  }
}

function parseWholeYaml(text: string): unknown {
  return withinLimits(parseYaml(text, objectLimits));
}

function withinLimits(value: unknown): unknown {
  checkCounts(value, objectLimits);
  return value;
}

const quote = 34;
const backslash = 92;
const colon = 58;
const comma = 44;

/**
 * Parses a JSON body more strictly than JSON.parse. It refuses duplicate fields, `__proto__`, lone surrogates (which
 * UTF-8 cannot encode), and numbers too large for a double. To find duplicate fields, it compares the number of
 * colons in the text with the number of fields in the value, which takes 1.6 µs per KB. Only a body with a mistake is
 * read again, by a slow reader that finds the mistake.
 * @throws ApiError BadRequest that names line and column, or the field, or the maximum depth. From the body, it quotes
 * only names of fields, and one character.
 * RequestEntityTooLarge for more fields or items than the limits allow, before the text is parsed.
 */
export function parseJson(text: string, limits: BodyLimits): unknown {
  const colons = text.length <= uncountedLength ? countColons(text, limits.maxDepth) : countAll(text, limits);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw refuse(text, cause);
  }
  // A duplicate field adds a colon to the text, but no field to the value.
  if (countFields(value) !== colons || (text.includes('\\u') && hasLoneSurrogate(value))) throw refuse(text);
  return value;
}

function refuse(text: string, cause?: unknown): ApiError {
  return new ApiError('BadRequest', describeJsonProblem(text), { cause });
}

/**
 * Counts the colons outside of strings. It also checks the depth, since a deeply nested text takes much memory as soon
 * as it is parsed.
 */
function countColons(text: string, maxDepth: number): number {
  let colons = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === colon) colons += 1;
    // With the bit 32 set, the code of [ becomes that of {, and the code of ] that of }. So one comparison finds [ and
    // {, and another one ] and }.
    else if ((code | 32) === 123) {
      depth += 1;
      if (depth > maxDepth) throw tooDeep(maxDepth);
    } else if ((code | 32) === 125) depth -= 1;
  }
  return colons;
}

/**
 * Counts the colons like {@link countColons}. It also checks the number of fields of each object, and the number of
 * nodes: one for each comma, object and list.
 */
function countAll(text: string, limits: BodyLimits): number {
  const { maxDepth } = limits;
  const count = new NodeCount(limits);
  const fieldsAt = new Uint32Array(maxDepth + 1);
  let colons = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === comma) count.addNode();
    else if (code === colon) {
      colons += 1;
      count.checkFields((fieldsAt[depth] = (fieldsAt[depth] ?? 0) + 1));
    } else if ((code | 32) === 123) {
      count.addNode();
      depth += 1;
      if (depth > maxDepth) throw tooDeep(maxDepth);
      fieldsAt[depth] = 0;
    } else if ((code | 32) === 125) depth = Math.max(0, depth - 1);
  }
  return colons;
}

function tooDeep(maxDepth: number): ApiError {
  return new ApiError('BadRequest', `the body nests deeper than ${maxDepth} levels`);
}

/**
 * Returns the index of the end of the string that begins at `start`. If the string has no end, the index is beyond the
 * text.
 */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && text.charCodeAt(end - 1) === backslash && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (at - before) % 2 === 0;
}

/**
 * Counts the fields at all levels. Returns NaN, which is not equal to any number, when the value has a field
 * `__proto__` or a number too large for a double: the server refuses such a value.
 */
function countFields(value: unknown): number {
  let count = 0;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) count += countFields(value[index]);
  } else if (isJsonObject(value)) {
    for (const name in value) {
      if (name === '__proto__') return Number.NaN;
      const field = value[name];
      // Most fields are texts, which are counted without another call.
      count += typeof field === 'string' ? 1 : 1 + countFields(field);
    }
  } else if (value === Infinity || value === -Infinity) return Number.NaN;
  return count;
}
