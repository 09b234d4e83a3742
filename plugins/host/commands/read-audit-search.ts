import type { AuditSearch } from '../audit/audit-search.ts';
import { ConfigError } from '../serve/config-error.ts';
import { textFlag } from '../serve/text-flag.ts';

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Reads the conditions of a search from the flags. @throws ConfigError for values that cannot be used */
export function readAuditSearch(flags: Readonly<Record<string, unknown>>, nowMs: number): AuditSearch {
  const textOf = (name: string): string | undefined => textFlag(flags, name);
  return {
    user: textOf('user'),
    verb: textOf('verb'),
    resource: textOf('resource'),
    namespace: textOf('namespace'),
    name: textOf('name'),
    code: readCode(textOf('code')),
    sinceMs: readSince(textOf('since'), nowMs),
  };
}

function readCode(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-5]\d\d$/.test(text)) throw new ConfigError(`--code: must be a status code such as 403, not "${text}"`);
  return Number(text);
}

function readSince(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const sinceMs = count === undefined ? Date.parse(text) : nowMs - Number(count) * (unitsMs.get(unit) ?? Number.NaN);
  if (!Number.isNaN(sinceMs)) return sinceMs;
  throw new ConfigError(`--since: must be a time (2026-01-31T12:00:00Z) or an age (5s, 30m, 24h, 7d), not "${text}"`);
}
