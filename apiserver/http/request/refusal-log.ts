import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { TrustedProxies } from './trusted-proxies.ts';

const linesPerMinute = 10;
const minuteMs = 60_000;

/** The maximum length of a path in a log line, because clients choose the paths. */
const maxPathLength = 200;

export interface RefusalLogParts {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly proxies: TrustedProxies;
}

/**
 * Logs refused requests in short lines, at most ten a minute. If refusals are left out, the next line has their number
 * in `leftOut`.
 */
export class RefusalLog {
  readonly #parts: RefusalLogParts;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #leftOut = 0;

  constructor(parts: RefusalLogParts) {
    this.#parts = parts;
  }

  /**
   * Logs the client, the path and the reason. It logs neither headers nor the query, because these may contain secrets.
   */
  note(context: Context, message: string): void {
    const { logger, clock, proxies } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#sinceMs >= minuteMs) {
      this.#sinceMs = nowMs;
      this.#lines = 0;
    }
    this.#lines += 1;
    if (this.#lines > linesPerMinute) {
      this.#leftOut += 1;
      return;
    }
    const leftOut = this.#leftOut === 0 ? {} : { leftOut: this.#leftOut };
    this.#leftOut = 0;
    const { method } = context;
    logger.warn({ address: proxies.addressOf(context), method, path: shortPath(context.path), ...leftOut }, message);
  }
}

/** Returns a path, shortened for a log line. */
export function shortPath(path: string): string {
  return path.length <= maxPathLength ? path : `${path.slice(0, maxPathLength)}…`;
}
