import { ConfigError } from '../serve/config-error.ts';
import { textFlag } from '../serve/text-flag.ts';

/** The search of `homeostat audit`; an entry must match all given values. */
export interface AuditSearch {
  readonly user?: string | undefined;
  readonly verb?: string | undefined;
  /** The plural, `<plural>.<group>` or `<plural>/<subresource>`. */
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly code?: number | undefined;
  /** Entries of this moment and later ones, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
}

/** The parts of an entry that are searched and shown. */
export interface AuditEntry {
  readonly stage?: string;
  readonly verb?: string;
  readonly requestURI?: string;
  readonly stageTimestamp?: string;
  readonly user?: { readonly username?: string };
  readonly impersonatedUser?: { readonly username?: string };
  readonly sourceIPs?: readonly string[];
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** @throws ConfigError for values that cannot be used */
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
  throw new ConfigError(`--since: must be a time such as 2026-01-31T12:00:00Z, or 30m, 24h or 7d ago, not "${text}"`);
}

/** Returns true for an entry that matches the search. */
export function isFound(entry: AuditEntry, search: AuditSearch): boolean {
  const { user, verb, namespace, name, code, sinceMs } = search;
  const { objectRef = {} } = entry;
  if (user !== undefined && entry.user?.username !== user && entry.impersonatedUser?.username !== user) return false;
  if (verb !== undefined && entry.verb !== verb) return false;
  if (namespace !== undefined && objectRef.namespace !== namespace) return false;
  if (name !== undefined && objectRef.name !== name) return false;
  if (code !== undefined && entry.responseStatus?.code !== code) return false;
  if (sinceMs !== undefined && !(Date.parse(entry.stageTimestamp ?? '') >= sinceMs)) return false;
  return search.resource === undefined || isResource(objectRef, search.resource);
}

function isResource(ref: NonNullable<AuditEntry['objectRef']>, wanted: string): boolean {
  const { resource = '', apiGroup = '', subresource } = ref;
  const [kind = '', part] = wanted.split('/');
  if (part !== undefined && part !== subresource) return false;
  return kind === resource || kind === `${resource}.${apiGroup}`;
}
