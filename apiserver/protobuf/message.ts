import { isUtf8 } from 'node:buffer';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import { objectLimits } from '../limits/body-limits.ts';
import { malformed } from './malformed.ts';
import { readFields } from './wire-fields.ts';
import type { WireField } from './wire-fields.ts';

/**
 * The type of a field. In JSON, `bytes` are a string in base64; `time` has whole seconds, and `microTime` microseconds.
 * A `quantity` is a message with one string, which is its value in JSON. `texts` is a message with a list of strings,
 * which is its value in JSON. `json` is a message with one string, which contains JSON.
 */
export type FieldType =
  | 'string'
  | 'bytes'
  | 'quantity'
  | 'texts'
  | 'json'
  | 'integer'
  | 'double'
  | 'boolean'
  | 'time'
  | 'microTime'
  | Message;

/** A field of a message, with its name in JSON. */
export interface MessageField {
  readonly name: string;
  readonly type: FieldType;
  /**
   * `list`: a repeated field; `map`: entries with a string as key; `optional`: an empty value is not left out;
   * `inline`: in JSON, the fields of the message are fields of the object that contains it; `shown`: a value, or a list
   * of values, that is encoded and never decoded, because only the server sets it; `either`: a message with a field for
   * each of several types of values ({@link eitherFields}); in JSON, the value stands in place of the message. Default:
   * a single value, which is left out when it is empty.
   */
  readonly is?: 'list' | 'map' | 'optional' | 'inline' | 'shown' | 'either';
}

/** The fields of a message that holds one of several values: an object, a list, or true or false. */
export const eitherFields = { object: 'object', list: 'list', flag: 'flag' } as const;

/** The fields of a message by their numbers. Fields with other numbers are ignored, as protobuf requires. */
export type Message = ReadonlyMap<number, MessageField>;

/**
 * Decodes a message to its JSON object. Leaves out the fields that only the server sets (`shown`), and each field that
 * has no {@link MessageField.is} and whose value is an empty text, 0 or false.
 * @throws ApiError BadRequest when the bytes do not encode this message. For a wrong value, the error names the field.
 */
export function decodeMessage(message: Message, bytes: Buffer, depth = 1): Record<string, unknown> {
  if (depth > objectLimits.maxDepth) throw tooDeep();
  const fields = new Map<string, unknown>();
  for (const wire of readFields(bytes)) {
    const field = message.get(wire.number);
    if (field === undefined || field.is === 'shown') continue;
    const value = decodeValue(field, wire, depth);
    if (field.is === 'list') push(fields, field.name, value);
    else if (field.is === 'map') push(fields, field.name, mapEntry(value));
    else if (field.is === 'inline') addAll(fields, value);
    else if (field.is === 'optional' || field.is === 'either' ? value !== undefined : !isEmpty(value))
      fields.set(field.name, value);
  }
  for (const { name, is } of message.values()) {
    const pairs = is === 'map' ? fields.get(name) : undefined;
    // An assignment for each key would set the prototype if a key is `__proto__`.
    if (Array.isArray(pairs)) fields.set(name, Object.fromEntries(pairs));
  }
  return Object.fromEntries(fields);
}

const quantity: Message = new Map([[1, { name: 'string', type: 'string' }]]);

const texts: Message = new Map([[1, { name: 'items', type: 'string', is: 'list' }]]);

const entryMessages = new Map<FieldType, Message>();

/** Returns the message for the entries of a map. */
function entryOf(type: FieldType): Message {
  const known = entryMessages.get(type);
  if (known !== undefined) return known;
  const made: Message = new Map<number, MessageField>([
    [1, { name: 'key', type: 'string' }],
    [2, { name: 'value', type }],
  ]);
  entryMessages.set(type, made);
  return made;
}

function push(entries: Map<string, unknown>, name: string, value: unknown): void {
  const list = entries.get(name);
  if (Array.isArray(list)) list.push(value);
  else entries.set(name, [value]);
}

function addAll(entries: Map<string, unknown>, value: unknown): void {
  for (const [name, each] of Object.entries(isJsonObject(value) ? value : {})) entries.set(name, each);
}

function mapEntry(value: unknown): readonly [string, unknown] {
  const { key = '', value: held = '' }: JsonObject = isJsonObject(value) ? value : {};
  return [String(key), held];
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || value === 0 || value === false;
}

function decodeValue({ name, type, is }: MessageField, wire: WireField, depth: number): unknown {
  if (type === 'integer' || type === 'boolean') {
    if (wire.kind !== 'varint') throw malformed(`${name} is no ${type}`);
    return type === 'boolean' ? wire.value !== 0n : integerOf(name, wire.value);
  }
  if (type === 'double') {
    if (wire.kind !== 'fixed' || wire.value.length !== 8) throw malformed(`${name} is no double`);
    return wire.value.readDoubleLE();
  }
  if (wire.kind !== 'bytes') throw malformed(`${name} has the wrong wire type`);
  if (type === 'json') return jsonOf(name, wire.value, depth + 1);
  if (is === 'map') return decodeMessage(entryOf(type), wire.value, depth + 1);
  if (type === 'quantity') return decodeMessage(quantity, wire.value, depth + 1)['string'];
  if (type === 'texts') return decodeMessage(texts, wire.value, depth + 1)['items'] ?? [];
  if (type === 'bytes') return wire.value.toString('base64');
  if (type === 'string') return textOf(name, wire.value);
  if (type === 'time' || type === 'microTime') return timeOf(name, type, wire.value);
  const decoded = decodeMessage(type, wire.value, depth + 1);
  return is === 'either' ? eitherOf(type, decoded) : decoded;
}

function eitherOf(type: Message, { object, list, flag }: Record<string, unknown>): unknown {
  const isFlag = [...type.values()].some(({ name }) => name === eitherFields.flag);
  return object ?? list ?? (isFlag ? flag === true : undefined);
}

const jsonMessage: Message = new Map([[1, { name: 'raw', type: 'string' }]]);

function jsonOf(name: string, bytes: Buffer, depth: number): unknown {
  const { raw } = decodeMessage(jsonMessage, bytes, depth);
  try {
    const value: unknown = JSON.parse(typeof raw === 'string' ? raw : 'null');
    checkDepth(value, depth);
    return value;
  } catch (error) {
    throw error instanceof SyntaxError ? malformed(`${name} is not valid JSON`) : error;
  }
}

function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > objectLimits.maxDepth) throw tooDeep();
  for (const each of Object.values(value)) checkDepth(each, depth + 1);
}

function tooDeep(): Error {
  return malformed(`the body is nested more than ${objectLimits.maxDepth} levels deep`);
}

/** Decodes an integer. A negative integer is encoded as its two's complement of 64 bits. */
function integerOf(name: string, value: bigint): number {
  const integer = Number(BigInt.asIntN(64, value));
  if (!Number.isSafeInteger(integer)) throw malformed(`${name} is beyond 2^53`);
  return integer;
}

function textOf(name: string, bytes: Buffer): string {
  if (!isUtf8(bytes)) throw malformed(`${name} is not valid UTF-8`);
  return bytes.toString('utf8');
}

/** The range of times in RFC 3339, in seconds since 1970: 0001-01-01 and 9999-12-31. */
const [minSeconds, maxSeconds] = [-62_135_596_800n, 253_402_300_799n];

/** Returns the text that a time has in JSON; undefined when the message of the time is empty. */
function timeOf(name: string, type: 'time' | 'microTime', bytes: Buffer): string | undefined {
  if (bytes.length === 0) return undefined;
  const parts = new Map<number, bigint>();
  for (const field of readFields(bytes)) if (field.kind === 'varint') parts.set(field.number, field.value);
  const seconds = BigInt.asIntN(64, parts.get(1) ?? 0n);
  const nanos = parts.get(2) ?? 0n;
  if (seconds < minSeconds || seconds > maxSeconds || nanos >= 1_000_000_000n) throw malformed(`${name} is not a time`);
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return type === 'time' ? `${whole}Z` : `${whole}.${String(nanos / 1000n).padStart(6, '0')}Z`;
}
