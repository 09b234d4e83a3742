import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { eitherFields } from './message.ts';
import type { FieldType, Message, MessageField } from './message.ts';

/** The wire types of protobuf. */
const varintType = 0;
const bytesType = 2;
const fixed64Type = 1;

/**
 * Encodes a JSON object as a message. Leaves out values of a wrong type, which no valid object has, and empty single
 * values (`''`, `0` and `false`) of fields that are not `optional`.
 */
export function encodeMessage(message: Message, object: JsonObject): Buffer {
  const parts: Buffer[] = [];
  for (const [number, field] of message) {
    const value = field.is === 'inline' ? object : object[field.name];
    encodeField(parts, { number, field, value });
  }
  return Buffer.concat(parts);
}

/** Encodes a field whose value is bytes. */
export function bytesField(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + bytesType), varint(bytes.length), bytes]);
}

interface Encoded {
  readonly number: number;
  readonly field: MessageField;
  readonly value: unknown;
}

function encodeField(parts: Buffer[], { number, field, value }: Encoded): void {
  const { type, is } = field;
  if (value === undefined || value === null) return;
  if (is === 'list' || (is === 'shown' && Array.isArray(value))) {
    for (const item of listOf(value)) push(parts, number, encodeValue(type, item));
  } else if (is === 'map') {
    for (const [key, held] of isJsonObject(value) ? Object.entries(value) : [])
      push(parts, number, entry(type, key, held));
  } else if (is === 'either') {
    push(parts, number, encodeValue(type, eitherOf(value)));
  } else if (type === 'double') {
    if (typeof value === 'number') parts.push(varint(number * 8 + fixed64Type), doubleOf(value));
  } else if (is === 'optional' || (value !== '' && value !== 0 && value !== false)) {
    push(parts, number, encodeValue(type, value));
  }
}

function push(parts: Buffer[], number: number, value: Buffer | bigint | undefined): void {
  if (value === undefined) return;
  if (typeof value === 'bigint') parts.push(varint(number * 8 + varintType), varint(value));
  else parts.push(bytesField(number, value));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function entry(type: FieldType, key: string, value: unknown): Buffer {
  const parts = [bytesField(1, Buffer.from(key))];
  push(parts, 2, encodeValue(type, value));
  return Buffer.concat(parts);
}

/**
 * Returns a number for an integer or a boolean, and bytes for any other type; undefined for a value that does not have
 * the field's type, and for a `double`, which {@link encodeField} encodes.
 */
function encodeValue(type: FieldType, value: unknown): Buffer | bigint | undefined {
  if (typeof type !== 'string') return isJsonObject(value) ? encodeMessage(type, value) : undefined;
  switch (type) {
    case 'string':
      return typeof value === 'string' ? Buffer.from(value) : undefined;
    case 'bytes':
      return typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
    case 'quantity':
      return typeof value === 'string' || typeof value === 'number'
        ? bytesField(1, Buffer.from(String(value)))
        : undefined;
    case 'texts':
      return Buffer.concat(listOf(value).map((text) => bytesField(1, Buffer.from(String(text)))));
    case 'json':
      return bytesField(1, Buffer.from(JSON.stringify(value)));
    case 'integer':
      return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined;
    case 'double':
      return undefined;
    case 'boolean':
      return typeof value === 'boolean' ? BigInt(value) : undefined;
    case 'time':
    case 'microTime':
      return timestamp(value);
  }
}

/**
 * Returns the fields of a message that holds an object, a list or a boolean. A message with an object also has the
 * boolean field, with the value true, because clients expect this.
 */
function eitherOf(value: unknown): JsonObject {
  if (typeof value === 'boolean') return { [eitherFields.flag]: value };
  if (Array.isArray(value)) return { [eitherFields.list]: value };
  return { [eitherFields.flag]: true, [eitherFields.object]: value };
}

function doubleOf(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

/** Encodes a time as whole seconds and nanoseconds. */
function timestamp(value: unknown): Buffer | undefined {
  const millis = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (typeof value !== 'string' || Number.isNaN(millis)) return undefined;
  const [, fraction = ''] = /\.(\d{1,9})/.exec(value) ?? [];
  const nanos = BigInt(fraction.padEnd(9, '0'));
  const parts: Buffer[] = [];
  push(parts, 1, BigInt(Math.floor(millis / 1000)));
  if (nanos > 0n) push(parts, 2, nanos);
  return Buffer.concat(parts);
}

/** Encodes an integer. A negative integer is encoded as its two's complement of 64 bits. */
function varint(value: number | bigint): Buffer {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
