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
import { formatDuration, formatTimestamp } from './time-values.ts';

const clause = /%(?:%|(?:\.(\d{1,4}))?([sdfeboxX]))/g;

/** The maximum number of digits after the point, as JavaScript prints them. */
const maxPrecision = 100;

/** `"%s is %d".format([name, age])`. @throws CelError */
export function formatText(form: string, args: readonly CelValue[], meter: CostMeter): string {
  let next = 0;
  const wrong = form.replaceAll(clause, '').indexOf('%');
  if (wrong !== -1) throw new CelError('could not parse formatting clause: unrecognized formatting clause');
  return form.replaceAll(clause, (found: string, precision: string | undefined, verb: string | undefined) => {
    if (verb === undefined) return found.slice(1);
    const value = args[next];
    if (value === undefined) throw new CelError(`index ${next} out of range`);
    next += 1;
    const text = verb === 's' ? textOf(value, meter) : formatVerb(value, verb, precision);
    meter.add(text.length / 10);
    return text;
  });
}

function formatVerb(value: CelValue, verb: string, precision: string | undefined): string {
  const digits = Math.min(Number(precision ?? 6), maxPrecision);
  const whole = typeof value === 'bigint' ? value : value instanceof CelUint ? value.value : undefined;
  switch (verb) {
    case 'd':
      if (whole !== undefined) return String(whole);
      break;
    case 'f':
      if (typeof value === 'number') return value.toFixed(digits);
      if (whole !== undefined) return Number(whole).toFixed(digits);
      break;
    case 'e':
      if (typeof value === 'number' || whole !== undefined)
        return Number(whole ?? value)
          .toExponential(digits)
          .replace(/e([+-])(\d)$/, 'e$10$2');
      break;
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      if (whole !== undefined) return whole.toString(2);
      break;
    case 'o':
      if (whole !== undefined) return whole.toString(8);
      break;
    default: {
      const hex = hexOf(value, whole);
      if (hex !== undefined) return verb === 'x' ? hex : hex.toUpperCase();
    }
  }
  throw new CelError(`error during formatting: %${verb} does not take a value of type ${typeNameOf(value)}`);
}

function hexOf(value: CelValue, whole: bigint | undefined): string | undefined {
  if (whole !== undefined) return whole.toString(16);
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  return value instanceof CelBytes ? Buffer.from(value.value).toString('hex') : undefined;
}

function textOf(value: CelValue, meter: CostMeter): string {
  meter.add(5);
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object') return String(value);
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof CelBytes) return Buffer.from(value.value).toString('utf8');
  if (value instanceof CelTimestamp) return formatTimestamp(value.nanos);
  if (value instanceof CelDuration) return formatDuration(value.nanos);
  if (value instanceof CelTypeValue) return value.name;
  if (value instanceof CelList)
    return `[${Array.from({ length: value.length }, (_, index) => textOf(value.at(index), meter)).join(', ')}]`;
  if (value instanceof CelMap) {
    const entries = value.keys().map((key) => `${textOf(key, meter)}: ${textOf(value.get(key) ?? null, meter)}`);
    return `{${entries.sort((a, b) => (a < b ? -1 : 1)).join(', ')}}`;
  }
  throw new CelError(`error during formatting: %s does not take a value of type ${value.typeName}`);
}
