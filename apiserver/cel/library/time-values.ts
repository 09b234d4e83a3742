import { CelError } from '../values/cel-error.ts';
import { CelDuration, CelTimestamp } from '../values/cel-value.ts';

const second = 1_000_000_000n;
const firstMoment = BigInt(Date.parse('0001-01-01T00:00:00Z')) * 1_000_000n;
const lastMoment = BigInt(Date.UTC(9999, 11, 31, 23, 59, 59, 999)) * 1_000_000n + 999_999n;

/** The number of nanoseconds in each unit of a duration. */
const units: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1000n],
  ['µs', 1000n],
  ['μs', 1000n],
  ['ms', 1_000_000n],
  ['s', second],
  ['m', 60n * second],
  ['h', 3600n * second],
]);

const durationForm = /^[+-]?(?:0|(?:(?:\d{1,19}(?:\.\d{0,19})?|\.\d{1,19})(?:ns|us|µs|μs|ms|s|m|h)){1,16})$/;
const durationPart = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g;
const momentForm = /^(\d{4}-\d\d-\d\d)T((?!24)\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/**
 * Returns the nanoseconds of a duration such as `1h30m`; undefined when the text is not a duration, or the nanoseconds
 * do not fit into 64 bits.
 */
export function parseDuration(text: string): bigint | undefined {
  if (text.length > 256 || !durationForm.test(text)) return undefined;
  let nanos = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(durationPart)) {
    const size = units.get(unit) ?? 0n;
    nanos += BigInt(whole === '' ? 0 : whole) * size;
    if (fraction !== '') nanos += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  const signed = text.startsWith('-') ? -nanos : nanos;
  return BigInt.asIntN(64, signed) === signed ? signed : undefined;
}

/**
 * Returns the nanoseconds since 1970 of a time of RFC 3339; undefined for another text, or a time that CEL does not
 * support.
 */
export function parseTimestamp(text: string): bigint | undefined {
  const match = text.length > 64 ? null : momentForm.exec(text);
  if (match === null) return undefined;
  const [, date = '', time = '', fraction = '', zone = ''] = match;
  const day = Date.parse(`${date}T00:00:00Z`);
  // Date.parse also accepts the 31st of a month with 30 days, and returns a day of the next month.
  if (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== date) return undefined;
  const ms = Date.parse(`${date}T${time}${zone}`);
  if (Number.isNaN(ms)) return undefined;
  const nanos = BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0') || '0');
  return nanos < firstMoment || nanos > lastMoment ? undefined : nanos;
}

/** Prints seconds, as CEL does: `90s`, `0.5s`. */
export function formatDuration(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = (size % second).toString().padStart(9, '0').replace(/0+$/, '');
  return `${nanos < 0n ? '-' : ''}${size / second}${fraction === '' ? '' : `.${fraction}`}s`;
}

export function formatTimestamp(nanos: bigint): string {
  const rest = ((nanos % second) + second) % second;
  const date = new Date(Number((nanos - rest) / 1_000_000n));
  const fraction = rest.toString().padStart(9, '0').replace(/0+$/, '');
  return date.toISOString().replace(/\.\d+Z$/, `${fraction === '' ? '' : `.${fraction}`}Z`);
}

export function durationInRange(nanos: bigint): CelDuration {
  if (BigInt.asIntN(64, nanos) !== nanos) throw new CelError('integer overflow');
  return new CelDuration(nanos);
}

export function timestampInRange(nanos: bigint): CelTimestamp {
  if (nanos < firstMoment || nanos > lastMoment) throw new CelError('timestamp overflow');
  return new CelTimestamp(nanos);
}
