import { overload } from '../types/declare-function.ts';
import type { Overload } from '../types/cel-function.ts';
import { CelError } from '../values/cel-error.ts';
import { CelDuration, CelTimestamp } from '../values/cel-value.ts';
import { objectAt, textAt } from './arguments.ts';

/**
 * Returns one part of a date, such as the hour. The date is shifted by the offset of its time zone, so that its UTC
 * fields have the values of the local time.
 */
type Part = (date: Date) => number;

const dayMs = 86_400_000;

const parts: Readonly<Record<string, Part>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDayOfYear: (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / dayMs),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDate: (date) => date.getUTCDate(),
  getDayOfWeek: (date) => date.getUTCDay(),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

const spans: Readonly<Record<string, bigint>> = {
  getHours: 3_600_000_000_000n,
  getMinutes: 60_000_000_000n,
  getSeconds: 1_000_000_000n,
  getMilliseconds: 1_000_000n,
};

/** The cost of a call with a time zone. To look up a named zone takes 60 µs. */
const zoneCost = 2000;

/** Returns the functions for the parts of timestamps and durations. */
export function timeOverloads(): readonly Overload[] {
  return [
    ...Object.entries(parts).flatMap(([name, part]) => [
      overload(`timestamp::${name}() int`, (args) => BigInt(part(dateOf(objectAt(CelTimestamp, args, 0))))),
      overload(`timestamp::${name}(string) int`, (args, meter) => {
        meter.add(zoneCost);
        return BigInt(part(inZone(dateOf(objectAt(CelTimestamp, args, 0)), textAt(args, 1))));
      }),
    ]),
    ...Object.entries(spans).map(([name, size]) =>
      overload(`duration::${name}() int`, (args) => objectAt(CelDuration, args, 0).nanos / size),
    ),
  ];
}

function dateOf({ nanos }: CelTimestamp): Date {
  const million = 1_000_000n;
  return new Date(Number((nanos - (((nanos % million) + million) % million)) / million));
}

function inZone(date: Date, zone: string): Date {
  const offset = /^([+-]?)(\d{1,2}):(\d\d)$/.exec(zone);
  if (offset !== null) {
    const [, sign, hours, minutes] = offset;
    const ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
    return new Date(date.getTime() + (sign === '-' ? -ms : ms));
  }
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone.slice(0, 64), timeZoneName: 'longOffset' });
    const name = format.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours = '0', minutes = '0'] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    const ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
    return new Date(date.getTime() + (sign === '-' ? -ms : ms));
  } catch {
    throw new CelError(`unknown time zone ${zone.slice(0, 64)}`);
  }
}
