import { Cron } from 'croner';
import { unknownKeyOf } from '../../api/index.ts';

/**
 * A schedule in a controller's definition: the times of a calendar at which the controller reconciles each of its
 * objects.
 */
export interface ScheduleOptions {
  /** Five fields (minute, hour, day of month, month, day of week), or a name such as `@daily`. */
  readonly cron: string;
  /** The IANA name of the time zone, such as `Europe/Berlin`. Default `UTC`. */
  readonly timeZone?: string;
  /**
   * The treatment of slots that pass while the controller is down, or while the run of an earlier slot is under way:
   * `skip` runs none of these slots, `last` only the latest, and `all` each of them in order, but at most the last 100.
   * Default `last`.
   */
  readonly missed?: 'skip' | 'last' | 'all';
}

/** A cron expression as a text, or an object with the expression and options. */
export type Schedule = string | ScheduleOptions;

const maxCronLength = 256;
const maxTimeZoneLength = 64;
const missedPolicies: readonly unknown[] = ['skip', 'last', 'all'];
const optionKeys: readonly string[] = ['cron', 'timeZone', 'missed'] satisfies readonly (keyof ScheduleOptions)[];

/** Computes the times of a schedule, in milliseconds since 1970. The class sets no timer. */
export class CronSchedule {
  /** A text that identifies the times of the schedule: two schedules with equal texts have the same times. */
  readonly text: string;
  readonly missed: 'skip' | 'last' | 'all';
  readonly #cron: Cron;

  /** Throws TypeError or RangeError for an invalid schedule; the error names the wrong value. */
  constructor(schedule: Schedule) {
    const { cron, timeZone, missed } = checked(schedule);
    this.text = `${cron} ${timeZone}`;
    this.missed = missed;
    this.#cron = parseCron(cron, timeZone);
    if (this.nextAfter(0) === undefined) throw new RangeError(`"${cron}" matches no time`);
  }

  /** Returns the first slot after a time; undefined when there is none. */
  nextAfter(ms: number): number | undefined {
    return this.#cron.nextRun(new Date(ms))?.getTime();
  }

  /** Returns the last slots before or at a time, the newest first. The call takes about 50 µs for each slot. */
  lastUpTo(ms: number, count: number): readonly number[] {
    return this.#cron.previousRuns(count, new Date(ms + 1)).map((slot) => slot.getTime());
  }
}

function checked(schedule: Schedule): Required<ScheduleOptions> {
  const options = typeof schedule === 'string' ? { cron: schedule } : schedule;
  if (typeof options !== 'object' || options === null || typeof options.cron !== 'string') {
    throw new TypeError(
      `write a cron expression such as "0 3 * * *", or { cron, timeZone, missed }, not ${shown(schedule)}`,
    );
  }
  const unknown = unknownKeyOf(options, optionKeys);
  if (unknown !== undefined) throw new TypeError(unknown);
  const { cron, timeZone = 'UTC', missed = 'last' } = options;
  if (!missedPolicies.includes(missed)) {
    throw new RangeError(`missed must be "skip", "last" or "all", not ${JSON.stringify(missed)}`);
  }
  if (typeof timeZone !== 'string' || !isTimeZone(timeZone)) {
    throw new RangeError(
      `timeZone must be the IANA name of a time zone, such as "Europe/Berlin", not ${shown(timeZone)}`,
    );
  }
  return { cron: cron.trim().replaceAll(/\s+/g, ' '), timeZone, missed };
}

function shown(value: unknown): string {
  // JSON.stringify returns undefined for a function; String turns this into the text "undefined".
  const json: unknown = JSON.stringify(value);
  return String(json).slice(0, 100);
}

/** Checks the name of a time zone. Intl also accepts offsets such as +01:00; they begin with a sign and are refused. */
function isTimeZone(timeZone: string): boolean {
  if (timeZone.length > maxTimeZoneLength || !/^[A-Za-z]/.test(timeZone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/**
 * Checks a cron expression. A question mark is refused: it stands for the time at which the expression is parsed, which
 * differs between processes.
 */
function parseCron(cron: string, timezone: string): Cron {
  const refusal = `${JSON.stringify(cron.slice(0, maxCronLength))} is not a cron expression of five fields`;
  if (cron.length > maxCronLength) throw new RangeError(`${refusal}: it has more than ${maxCronLength} characters`);
  if (cron.includes('?')) throw new RangeError(`${refusal}: write "*" in place of "?"`);
  if (!cron.startsWith('@') && cron.split(' ').length !== 5) throw new RangeError(refusal);
  try {
    // UTC is passed to croner as an offset. If it were passed as the name of a zone, croner would use Intl, and the
    // computation of a slot would take three times as long.
    const zone = timezone === 'UTC' ? { utcOffset: 0 } : { timezone };
    return new Cron(cron, { mode: '5-part', ...zone, paused: true });
  } catch (error) {
    const why = error instanceof Error ? error.message.replace('CronPattern: ', '') : String(error);
    throw new RangeError(`${refusal}: ${why}`, { cause: error });
  }
}
