import { quoteValue } from '../errors/field-cause.ts';

/** Types of values that an index by path can hold. */
export type IndexedType = 'string' | 'date-time' | 'integer' | 'number' | 'boolean';

/** Encodes the values of one type as strings. The order of the strings by code point is the order of the values. */
export interface IndexEncoding {
  /**
   * Encodes a field's value.
   * @throws TypeError for a value of the wrong JavaScript type, such as a number for `date-time`; RangeError for a
   * value that the indexed type does not allow, such as 1.5 for `integer`, or a malformed date-time.
   */
  readonly ofValue: (value: unknown) => string;
  /** Encodes a literal of a selector. @throws RangeError for a literal that is not a value of the type. */
  readonly ofLiteral: (literal: string) => string;
}

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const dateTime = /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):\d\d:)(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/;

/** Returns the encoding of index values of a type. */
export function encodingOf(type: IndexedType): IndexEncoding {
  return encodings[type];
}

const encodings: Readonly<Record<IndexedType, IndexEncoding>> = {
  string: { ofValue: (value) => expectType(value, 'string'), ofLiteral: (literal) => literal },
  'date-time': { ofValue: (value) => encodeDateTime(expectType(value, 'string')), ofLiteral: encodeDateTime },
  boolean: { ofValue: (value) => String(expectType(value, 'boolean')), ofLiteral: encodeBoolean },
  number: {
    ofValue: (value) => encodeNumber(expectType(value, 'number')),
    ofLiteral: (literal) => encodeNumber(parseNumber(literal)),
  },
  integer: {
    ofValue: (value) => encodeNumber(checkWhole(expectType(value, 'number'))),
    ofLiteral: (literal) => encodeNumber(checkWhole(parseNumber(literal))),
  },
};

interface Types {
  readonly string: string;
  readonly number: number;
  readonly boolean: boolean;
}

function expectType<K extends keyof Types>(value: unknown, type: K): Types[K] {
  if (!isOfType(value, type)) throw new TypeError(`${quoteValue(value)} is not a ${type}`);
  return value;
}

function isOfType<K extends keyof Types>(value: unknown, type: K): value is Types[K] {
  return typeof value === type;
}

const number = new DataView(new ArrayBuffer(8));

// Flips all bits of a negative number, and only the sign bit of any other number. Then the bits of IEEE 754 doubles
// compare like unsigned integers. So 16 hexadecimal digits are enough for every JSON number, including fractions and
// exponents.
function encodeNumber(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`${value} is not a finite number`);
  number.setFloat64(0, value === 0 ? 0 : value); // -0 is 0
  const isNegative = value < 0;
  const high = number.getUint32(0) ^ (isNegative ? 0xffffffff : 0x80000000);
  const low = number.getUint32(4) ^ (isNegative ? 0xffffffff : 0);
  return hexDigits(high) + hexDigits(low);
}

function hexDigits(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}

function parseNumber(literal: string): number {
  const value = decimal.test(literal) ? Number(literal) : Number.NaN;
  if (!Number.isFinite(value)) throw new RangeError(`${quoteValue(literal)} is not a number`);
  return value;
}

function checkWhole(value: number): number {
  if (!Number.isInteger(value)) throw new RangeError(`${value} is not a whole number`);
  return value;
}

function encodeBoolean(literal: string): string {
  if (literal !== 'true' && literal !== 'false')
    throw new RangeError(`${quoteValue(literal)} is neither true nor false`);
  return literal;
}

// Returns a text such as `2024-01-31T22:00:00.5`, in UTC. It has no Z: with a Z, a time with a fraction would sort
// before the same second without a fraction ("." < "Z").
function encodeDateTime(text: string): string {
  const [, date = '', minutes = '', seconds = '', fraction = '', zone = ''] = dateTime.exec(text) ?? [];
  // Date refuses leap seconds. So the seconds `60` are read as second 59 plus one second: second 00 of the next minute.
  const isLeap = seconds === '60';
  const atMs = Date.parse(`${date}T${minutes}${isLeap ? '59' : seconds}${zone.toUpperCase()}`) + (isLeap ? 1000 : 0);
  const utc = Number.isNaN(atMs) ? '' : new Date(atMs).toISOString();
  // Date reads February 30th as a day in March, so the first check compares the date with the calendar. The second
  // check refuses years outside of 0000 to 9999: for these, the result of toISOString begins with a sign.
  if (!isCalendarDate(date) || !/^\d{4}-/.test(utc))
    throw new RangeError(`${quoteValue(text)} is not a date-time (RFC 3339)`);
  const digits = fraction.replace(/0+$/, '');
  return utc.slice(0, 19) + (digits === '' ? '' : `.${digits}`);
}

function isCalendarDate(date: string): boolean {
  const atMs = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(date);
}
