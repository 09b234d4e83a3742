import { readFileSync } from 'node:fs';

/** Headers of one request, in bytes. */
export const maxHeaderSize: number = 16 * 1024;

/** What a connection is given, in milliseconds of real time. */
export interface ConnectionTimes {
  /** For the headers of a request. */
  readonly headersMs: number;
  /** For a whole request. */
  readonly requestMs: number;
  /** How often both are looked at. */
  readonly checkMs: number;
}

/** Node would look every 30 s, and let headers take 40. */
export const connectionTimes: ConnectionTimes = { headersMs: 10_000, requestMs: 60_000, checkMs: 1000 };

/** Descriptors that databases, files and plugins are left, at least. */
const leastReserve = 100;

/** How many connections the process can have: its descriptors without an eighth. undefined where the system does not tell. */
export function defaultMaxConnections(): number | undefined {
  const descriptors = descriptorLimit();
  return descriptors === undefined ? undefined : Math.max(1, descriptors - Math.max(leastReserve, descriptors >> 3));
}

/** The limit as Linux reports it. Node has already raised its soft limit to the hard one. */
function descriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
