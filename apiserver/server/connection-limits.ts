import { readFileSync } from 'node:fs';

/** The maximum size of the headers of one request, in bytes. */
export const maxHeaderSize: number = 16 * 1024;

/** The time limits of a connection, in milliseconds of real time. */
export interface ConnectionTimes {
  /** The time within which a client must send all headers of a request. */
  readonly headersMs: number;
  /** The time within which a client must send a whole request. */
  readonly requestMs: number;
  /** The interval at which the server checks `headersMs` and `requestMs`. */
  readonly checkMs: number;
}

/**
 * The default time limits. They are shorter than those of Node, which checks every 30 s and allows 60 s for headers.
 */
export const connectionTimes: ConnectionTimes = { headersMs: 10_000, requestMs: 60_000, checkMs: 1000 };

/** The minimum number of file descriptors that are left for databases, files and plugins. */
const leastReserve = 100;

/**
 * Returns the default for the maximum number of connections: seven eighths of the file descriptors of the process, or
 * fewer, so that at least 100 descriptors are left; undefined when the system does not report their number.
 */
export function defaultMaxConnections(): number | undefined {
  const descriptors = descriptorLimit();
  return descriptors === undefined ? undefined : Math.max(1, descriptors - Math.max(leastReserve, descriptors >> 3));
}

/**
 * Returns the limit of file descriptors that Linux reports. Node has already raised its soft limit to the hard limit.
 */
function descriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
