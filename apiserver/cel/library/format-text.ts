import { CelError } from '../values/cel-error.ts';
import {
  CelBytes,
  CelDuration,
  CelList,
  CelMap,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  typeNameOf,
} from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import { formatDouble } from './format-double.ts';
import { argumentProblem, readFormat, wrongArgument } from './format-clauses.ts';
import type { FormatClause } from './format-clauses.ts';
import { formatDuration, formatTimestamp } from './time-values.ts';

/**
 * The maximum and the default number of digits after the decimal point. The maximum is the limit of JavaScript; the
 * default is that of Go.
 */
const [maxPrecision, defaultPrecision] = [100, 6];

/**
 * Evaluates a call such as `"%s is %d".format([name, age])`. The result is that of cel-go with an English locale.
 * @throws CelError
 */
export function formatText(format: string, args: readonly CelValue[], meter: CostMeter): string {
  let next = 0;
  let text = '';
  for (const piece of readFormat(format)) {
    if (typeof piece === 'string') text += piece;
    else {
      const value = args[next];
      if (value === undefined) throw new CelError(`index ${next} out of range`);
      next += 1;
      const printed = formatClause(piece, value, meter);
      meter.add(printed.length / 10);
      text += printed;
    }
  }
  return text;
}

function formatClause(clause: FormatClause, value: CelValue, meter: CostMeter): string {
  const type = typeNameOf(value);
  const problem = argumentProblem(clause, type);
  if (problem !== undefined) throw new CelError(problem);
  const { verb, precision = defaultPrecision } = clause;
  const whole = wholeOf(value);
  switch (verb) {
    case 's':
      return textOf(value, meter);
    case 'f':
      return fixed(doubleOf(clause, value), Math.min(precision, maxPrecision));
    case 'e':
      return scientific(doubleOf(clause, value), Math.min(precision, maxPrecision));
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : String(whole?.toString(2));
    case 'o':
      return String(whole?.toString(8));
    case 'x':
      return hexOf(value, whole);
    case 'X':
      return hexOf(value, whole).toUpperCase();
    default:
      return String(whole);
  }
}

function wholeOf(value: CelValue): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return value instanceof CelUint ? value.value : undefined;
}

const numberTexts: ReadonlyMap<CelValue, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);

function doubleOf(clause: FormatClause, value: CelValue): number {
  const number = typeof value === 'number' ? value : numberTexts.get(value);
  if (number === undefined) throw new CelError(wrongArgument(clause, typeNameOf(value)));
  return number;
}

/** Prints a number with `digits` digits after the decimal point, and with a comma before each group of three digits. */
function fixed(value: number, digits: number): string {
  if (!Number.isFinite(value)) return unusual(value);
  const printed =
    Math.abs(value) < 1e21 ? value.toFixed(digits) : `${BigInt(value)}${digits === 0 ? '' : `.${'0'.repeat(digits)}`}`;
  const [whole = '', ...fraction] = printed.split('.');
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','), ...fraction].join('.');
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** Prints a number as `1.052033 × 10⁰³`, with narrow spaces. */
function scientific(value: number, digits: number): string {
  if (!Number.isFinite(value)) return unusual(value);
  const [mantissa = '', exponent = ''] = value.toExponential(digits).split('e');
  const power = exponent
    .slice(1)
    .padStart(2, '0')
    .replaceAll(/\d/g, (digit) => superscripts.charAt(Number(digit)));
  return `${mantissa}\u202f×\u202f10${exponent.startsWith('-') ? '⁻' : ''}${power}`;
}

function unusual(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '∞' : '-∞';
}

function hexOf(value: CelValue, whole: bigint | undefined): string {
  if (whole !== undefined) return whole.toString(16);
  if (value instanceof CelBytes) return Buffer.from(value.value).toString('hex');
  return typeof value === 'string' ? Buffer.from(value).toString('hex') : '';
}

/** Prints the argument of `%s`. */
function textOf(value: CelValue, meter: CostMeter): string {
  meter.add(5);
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatDouble(value);
  if (value === null || typeof value !== 'object') return String(value);
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof CelBytes) return Buffer.from(value.value).toString('utf8');
  if (value instanceof CelTimestamp) return formatTimestamp(value.nanos);
  if (value instanceof CelDuration) return formatDuration(value.nanos);
  if (value instanceof CelTypeValue) return value.name;
  if (value instanceof CelList)
    return `[${Array.from({ length: value.length }, (_, index) => itemText(value.at(index), meter)).join(', ')}]`;
  if (value instanceof CelMap) return mapText(value, meter);
  throw new CelError(`error during formatting: no formatting function for ${value.typeName}`);
}

function mapText(map: CelMap, meter: CostMeter): string {
  const entries = map.keys().map((key) => [itemText(key, meter), itemText(map.get(key) ?? null, meter)] as const);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(', ')}}`;
}

/** Prints an item of a list, or a key or value of a map. Most are printed like literals, such as a text in quotes. */
function itemText(value: CelValue, meter: CostMeter): string {
  if (typeof value === 'number') return Number.isFinite(value) ? plainFixed(value) : `"${formatDouble(value)}"`;
  const text = textOf(value, meter);
  if (typeof value === 'string') return quoted(text);
  if (value instanceof CelBytes) return `b${quoted(text)}`;
  if (value instanceof CelTimestamp) return `timestamp(${quoted(text)})`;
  return value instanceof CelDuration ? `duration(${quoted(text)})` : text;
}

function plainFixed(value: number): string {
  return fixed(value, defaultPrecision).replaceAll(',', '');
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['\u0007', String.raw`\a`],
  ['\b', String.raw`\b`],
  ['\f', String.raw`\f`],
  ['\n', String.raw`\n`],
  ['\r', String.raw`\r`],
  ['\t', String.raw`\t`],
  ['\v', String.raw`\v`],
  ['\\', String.raw`\\`],
  ['"', String.raw`\"`],
]);

function quoted(text: string): string {
  const escaped = text.replaceAll(
    /[\p{Cc}"\\]/gu,
    (found) => escapes.get(found) ?? String.raw`\x${found.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return `"${escaped}"`;
}
