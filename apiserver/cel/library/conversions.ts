import { overload } from '../types/declare-function.ts';
import { formatDouble } from './format-double.ts';
import type { Overload } from '../types/cel-function.ts';
import { CelError } from '../values/cel-error.ts';
import {
  CelBytes,
  CelDuration,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  sizeOf,
  typeNameOf,
} from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import { doubleAt, int64, intAt, listAt, objectAt, textAt, uint64 } from './arguments.ts';
import { countCharacters } from './characters.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp, timestampInRange } from './time-values.ts';

/** The smallest positive double that does not fit into an integer of 64 bits. */
const tooLarge = 2 ** 63;

/** The cost to parse a time, in addition to the cost that Kubernetes counts. */
const parseCost = 20;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Returns the functions for conversions, sizes and optionals. */
export function conversionOverloads(): readonly Overload[] {
  return [...toNumbers(), ...toTexts(), ...toTimes(), ...sizes(), ...optionals(), ...others()];
}

function toNumbers(): readonly Overload[] {
  const uintAt = (args: readonly CelValue[]): bigint => objectAt(CelUint, args, 0).value;
  return [
    overload('int(int) int', (args) => intAt(args, 0)),
    overload('int(uint) int', (args) => int64(uintAt(args))),
    overload('int(double) int', (args) => wholeOf(doubleAt(args, 0), tooLarge)),
    overload('int(string) int', (args) => int64(readInteger(textAt(args, 0), 'int'))),
    overload('int(timestamp) int', (args) => secondsOf(objectAt(CelTimestamp, args, 0).nanos)),
    overload('int(duration) int', (args) => objectAt(CelDuration, args, 0).nanos),
    overload('uint(uint) uint', (args) => objectAt(CelUint, args, 0)),
    overload('uint(int) uint', (args) => new CelUint(uint64(intAt(args, 0)))),
    overload('uint(double) uint', (args) => new CelUint(uint64(wholeOf(doubleAt(args, 0), tooLarge * 2)))),
    overload('uint(string) uint', (args) => new CelUint(uint64(readInteger(textAt(args, 0), 'uint')))),
    overload('double(double) double', (args) => doubleAt(args, 0)),
    overload('double(int) double', (args) => Number(intAt(args, 0))),
    overload('double(uint) double', (args) => Number(uintAt(args))),
    overload('double(string) double', (args) => readDouble(textAt(args, 0))),
    overload('bool(bool) bool', ([value = null]) => value),
    overload('bool(string) bool', (args) => readBool(textAt(args, 0))),
  ];
}

function toTexts(): readonly Overload[] {
  return [
    overload('string(string) string', (args) => textAt(args, 0)),
    overload('string(bool) string', ([value]) => (value === true ? 'true' : 'false')),
    overload('string(int) string', (args) => String(intAt(args, 0))),
    overload('string(uint) string', (args) => String(objectAt(CelUint, args, 0).value)),
    overload('string(double) string', (args) => formatDouble(doubleAt(args, 0))),
    overload('string(bytes) string', (args) => textOfBytes(objectAt(CelBytes, args, 0).value)),
    overload('string(timestamp) string', (args) => formatTimestamp(objectAt(CelTimestamp, args, 0).nanos)),
    overload('string(duration) string', (args) => formatDuration(objectAt(CelDuration, args, 0).nanos)),
    overload('bytes(bytes) bytes', ([value = null]) => value),
    overload('bytes(string) bytes', (args) => new CelBytes(Buffer.from(textAt(args, 0), 'utf8'))),
  ];
}

function toTimes(): readonly Overload[] {
  return [
    overload('timestamp(timestamp) timestamp', ([value = null]) => value),
    overload('timestamp(int) timestamp', (args) => timestampInRange(intAt(args, 0) * 1_000_000_000n)),
    overload('timestamp(string) timestamp', (args, meter) => {
      meter.add(parseCost);
      const nanos = parseTimestamp(textAt(args, 0));
      if (nanos === undefined) throw conversionError(textAt(args, 0), 'google.protobuf.Timestamp');
      return new CelTimestamp(nanos);
    }),
    overload('duration(duration) duration', ([value = null]) => value),
    // As in cel-go, this conversion is declared, but every call of it fails.
    overload('duration(int) duration', () => {
      throw new CelError("type conversion error from 'int' to 'google.protobuf.Duration'");
    }),
    overload('duration(string) duration', (args, meter) => {
      meter.add(parseCost);
      const nanos = parseDuration(textAt(args, 0));
      if (nanos === undefined) throw conversionError(textAt(args, 0), 'google.protobuf.Duration');
      return new CelDuration(nanos);
    }),
  ];
}

function sizes(): readonly Overload[] {
  return ['size(', '::size('].flatMap((form) => {
    const signature = (type: string): string => (form === 'size(' ? `size(${type}) int` : `${type}::size() int`);
    return [
      overload(signature('string'), (args, meter) => BigInt(countCharacters(textAt(args, 0), meter))),
      overload(signature('bytes'), ([value = null]) => BigInt(sizeOf(value))),
      overload(signature('list(A)'), (args) => BigInt(listAt(args, 0).length)),
      overload(signature('map(A, B)'), (args) => BigInt(objectAt(CelMap, args, 0).size)),
    ];
  });
}

function optionals(): readonly Overload[] {
  const optionalAt = (args: readonly CelValue[], index: number): CelOptional => objectAt(CelOptional, args, index);
  return [
    overload('optional.of(V) optional(V)', ([value]) => new CelOptional(value)),
    overload('optional.ofNonZeroValue(V) optional(V)', ([value = null]) =>
      isZero(value) ? CelOptional.none : new CelOptional(value),
    ),
    overload('optional.none() optional(V)', () => CelOptional.none),
    overload('optional(V)::hasValue() bool', (args) => optionalAt(args, 0).value !== undefined),
    overload('optional(V)::value() V', (args) => {
      const { value } = optionalAt(args, 0);
      if (value === undefined) throw new CelError('optional.none() dereference');
      return value;
    }),
    overload('optional(V)::or(optional(V)) optional(V)', (args) =>
      optionalAt(args, 0).value === undefined ? optionalAt(args, 1) : optionalAt(args, 0),
    ),
    overload('optional(V)::orValue(V) V', (args) => optionalAt(args, 0).value ?? args[1] ?? null),
  ];
}

function others(): readonly Overload[] {
  return [
    overload('dyn(A) dyn', ([value = null]) => value),
    overload('type(A) type(A)', ([value = null]) => new CelTypeValue(typeNameOf(value))),
  ];
}

function isZero(value: CelValue): boolean {
  if (value instanceof CelUint) return value.value === 0n;
  if (value instanceof CelDuration || value instanceof CelTimestamp) return value.nanos === 0n;
  if (typeof value === 'object' && value !== null) return sizeOf(value) === 0;
  return value === null || value === false || value === '' || value === 0 || value === 0n;
}

function secondsOf(nanos: bigint): bigint {
  const rest = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return (nanos - rest) / 1_000_000_000n;
}

function wholeOf(value: number, limit: number): bigint {
  if (!(Math.abs(value) < limit)) throw new CelError('integer overflow');
  return BigInt(Math.trunc(value));
}

function readInteger(text: string, type: 'int' | 'uint'): bigint {
  const form = type === 'int' ? /^[+-]?\d{1,32}$/ : /^\d{1,32}$/;
  if (text.length > 33 || !form.test(text)) throw conversionError(text, type);
  return BigInt(text.replace(/^\+/, ''));
}

function readDouble(text: string): number {
  const infinite = /^([+-]?)(?:inf|infinity)$/i.exec(text);
  if (infinite !== null) return infinite[1] === '-' ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  const isNumber = text.length < 1000 && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text);
  if (!isNumber || !Number.isFinite(Number(text))) throw conversionError(text, 'double');
  return Number(text);
}

function readBool(text: string): boolean {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false;
  throw conversionError(text, 'bool');
}

function textOfBytes(value: Uint8Array): string {
  try {
    return decoder.decode(value);
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

function conversionError(text: string, type: string): CelError {
  return new CelError(`type conversion error from '${text.slice(0, 64)}' to '${type}'`);
}
