import { ApiError, isJsonObject } from '@homeostat/controller-runtime/api';
import { uncountedLength } from '../limits/body-limits.ts';
import type { BodyLimits } from '../limits/body-limits.ts';
import { NodeCount } from '../limits/count-nodes.ts';
import { describeJsonProblem } from './json-problem.ts';
import { hasLoneSurrogate } from './json-value.ts';

const quote = 34;
const backslash = 92;
const colon = 58;
const comma = 44;

/**
 * Parses a JSON body more strictly than JSON.parse: no duplicate fields, no `__proto__`, no lone surrogates (UTF-8 cannot
 * hold them), no numbers beyond a double. Costs 1.6 µs above JSON.parse for 1 KB, because only a body whose counts differ is
 * read a second time, by a slow reader that finds the place.
 * @throws ApiError BadRequest that names line and column, or the field; the body is never repeated. RequestEntityTooLarge
 * for more fields or items than the limits have, before anything is parsed.
 */
export function parseJson(text: string, limits: BodyLimits): unknown {
  const colons = text.length <= uncountedLength ? countColons(text, limits.maxDepth) : countAll(text, limits);
  const value = parseOrRefuse(text);
  // A duplicate field adds a colon to the text, but no field to the value.
  if (countFields(value) !== colons || (text.includes('\\u') && hasLoneSurrogate(value))) throw refuse(text);
  return value;
}

function parseOrRefuse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw refuse(text, cause);
  }
}

function refuse(text: string, cause?: unknown): ApiError {
  return new ApiError('BadRequest', describeJsonProblem(text), { cause });
}

/** Counts the colons outside of strings. Also checks the depth, because parsing a deep text takes much memory. */
function countColons(text: string, maxDepth: number): number {
  let colons = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === colon) colons += 1;
    // { and [ differ from } and ] by 2, and from each other by 32.
    else if ((code | 32) === 123) {
      depth += 1;
      if (depth > maxDepth) throw tooDeep(maxDepth);
    } else if ((code | 32) === 125) depth -= 1;
  }
  return colons;
}

/** Counts the same, and checks the number of nodes: one for each comma, and one more for each object and list. */
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

/** Returns the end of the string that begins at `start`; an index past the text when it has no end. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (at - before) % 2 === 0;
}

/** Counts the fields at all levels; returns NaN, which equals nothing, for a value that may not be stored. */
function countFields(value: unknown): number {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity ? Number.NaN : 0;
  if (Array.isArray(value)) return countInItems(value);
  return isJsonObject(value) ? countInFields(value) : 0;
}

function countInItems(items: readonly unknown[]): number {
  let count = 0;
  for (let index = 0; index < items.length; index += 1) count += countFields(items[index]);
  return count;
}

function countInFields(fields: Readonly<Record<string, unknown>>): number {
  let count = 0;
  for (const name in fields) {
    if (name === '__proto__') return Number.NaN;
    count += 1 + countFields(fields[name]);
  }
  return count;
}
