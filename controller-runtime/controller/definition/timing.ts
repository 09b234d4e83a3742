import type { ApiObject } from '../../api/index.ts';
import { CronSchedule, type Schedule } from './cron-schedule.ts';
import { parseDuration, type Duration } from './parse-duration.ts';

/**
 * A value that is the same for all objects, or a function. The function returns the value for an object, or undefined
 * if the object has none.
 */
export type PerObject<T extends ApiObject, V> = V | { valueOf(object: T): V | undefined }['valueOf'];

/** The times at which objects are reconciled without a change. */
export interface Timing {
  /**
   * Returns the interval of an object; undefined when it has none. Throws when the author's function returns an invalid
   * value.
   */
  everyMs(object: ApiObject): number | undefined;
  /**
   * Returns the schedule of an object; undefined when it has none. Throws when the author's function returns an invalid
   * value.
   */
  scheduleOf(object: ApiObject): CronSchedule | undefined;
}

interface TimingOptions<T extends ApiObject> {
  readonly every?: PerObject<T, Duration>;
  readonly schedule?: PerObject<T, Schedule>;
}

/**
 * The maximum number of parsed schedules that are kept. Functions return a schedule for each object, but most objects
 * share a few schedules.
 */
const maxParsed = 1000;

/**
 * Returns the timing that the options `every` and `schedule` declare; undefined when neither is given. For an invalid
 * value, throws an error that names the option.
 */
export function timingOf<T extends ApiObject>(name: string, { every, schedule }: TimingOptions<T>): Timing | undefined {
  if (every === undefined && schedule === undefined) return undefined;
  return Object.freeze({
    everyMs: perObject(every, named(`controller "${name}": every`, parseEvery)),
    scheduleOf: perObject(schedule, named(`controller "${name}": schedule`, remembered())),
  });
}

function perObject<T extends ApiObject, V, R>(
  value: PerObject<T, V> | undefined,
  parse: (value: V) => R,
): { of(object: T): R | undefined }['of'] {
  if (value === undefined) return () => undefined;
  if (!isFunction<T, V>(value)) {
    const parsed = parse(value);
    return () => parsed;
  }
  return (object) => {
    const found = value(object);
    return found === undefined ? undefined : parse(found);
  };
}

function isFunction<T, V>(value: unknown): value is (object: T) => V | undefined {
  return typeof value === 'function';
}

function named<V, R>(option: string, parse: (value: V) => R): (value: V) => R {
  return (value) => {
    try {
      return parse(value);
    } catch (error) {
      if (error instanceof RangeError) throw new RangeError(`${option}: ${error.message}`, { cause: error });
      throw new TypeError(`${option}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  };
}

function parseEvery(every: Duration): number {
  const everyMs = parseDuration(every);
  if (everyMs > 0) return everyMs;
  throw new RangeError(`must be above 0, not ${JSON.stringify(every)}`);
}

function remembered(): (schedule: Schedule) => CronSchedule {
  const parsed = new Map<string, CronSchedule>();
  return (schedule) => {
    const id = JSON.stringify(schedule);
    let found = parsed.get(id);
    if (found === undefined) {
      found = new CronSchedule(schedule);
      if (parsed.size >= maxParsed) parsed.clear();
      parsed.set(id, found);
    }
    return found;
  };
}
