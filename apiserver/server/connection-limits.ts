import { readFileSync } from 'node:fs';

/** The maximum size of the headers of one request, in bytes. */
export const maxHeaderSize: number = 16 * 1024;

/** The time limits of a connection, in milliseconds of real time. */
export interface ConnectionTimes {
  /** The limit for the headers of a request. */
  readonly headersMs: number;
  /** The limit for a whole request. */
  readonly requestMs: number;
  /** The interval at which both are checked. */
  readonly checkMs: number;
}

/** Shorter than Node's defaults, which check every 30 s and allow 40 s for headers. */
export const connectionTimes: ConnectionTimes = { headersMs: 10_000, requestMs: 60_000, checkMs: 1000 };

/** The minimum number of descriptors left for databases, files and plugins. */
const leastReserve = 100;

/**
 * The number of connections that the process can have: seven eighths of its descriptors. undefined where the system
 * does not report them.
 */
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
