import { ConfigError } from '../../serve/config-error.ts';
import { textFlag } from '../../serve/text-flag.ts';

/** The backups that `homeostat backup` makes. */
export interface BackupPlan {
  /** The path of the file. With `keep`, each backup has its time added to this name. */
  readonly to: string;
  /** The interval; undefined for a single backup. */
  readonly everyMs: number | undefined;
  /** The number of backups that stay. If undefined, the file name has no time, and no backup is removed. */
  readonly keep: number | undefined;
  readonly force: boolean;
}

const defaultKeep = 24;
const maxKeep = 10_000;

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** The maximum interval: a week. This is less than 24 days, the maximum delay of a timer of Node. */
const maxEveryMs = 7 * 86_400_000;

/** Reads the flags of the command. @throws ConfigError for values that cannot be used */
export function readBackupPlan(flags: Readonly<Record<string, unknown>>): BackupPlan {
  const to = textFlag(flags, 'to');
  if (to === undefined || to === '')
    throw new ConfigError('--to is needed: the file to write, such as backups/homeostat.db');
  const everyMs = readEvery(textFlag(flags, 'every'));
  const keep = readKeep(textFlag(flags, 'keep')) ?? (everyMs === undefined ? undefined : defaultKeep);
  const force = flags['force'] === true;
  if (force && keep !== undefined)
    throw new ConfigError('--force: is for a single backup; with --every or --keep, each backup has its own name');
  return { to, everyMs, keep, force };
}

function readEvery(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const everyMs = Number(count) * (unitsMs.get(unit) ?? Number.NaN);
  if (everyMs >= 60_000 && everyMs <= maxEveryMs) return everyMs;
  throw new ConfigError(`--every: must be a time from 1m to 7d, such as 30m, 1h or 1d, not "${text}"`);
}

function readKeep(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const keep = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (keep >= 1 && keep <= maxKeep) return keep;
  throw new ConfigError(`--keep: must be a whole number from 1 to ${maxKeep}, not "${text}"`);
}
