import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { RequestPermissions } from '../access/request-permissions.ts';
import { exportMediaType } from '../../backup/export-format.ts';
import type { RewriteProgress } from '../../registry/follow/rewrite-objects.ts';

/** The minimum time between two lines of progress. */
const reportMs = 1000;

export interface ReencryptHandlerParts {
  readonly rewrite: () => AsyncGenerator<RewriteProgress, void, undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly permissions: RequestPermissions;
}

/**
 * Handles `POST /reencrypt`: finds all objects that are not stored as the encryption configuration requires now, such
 * as those encrypted with a former key, and stores them again. The response has at most one line of JSON each second,
 * and a last line with `"done":true`. If the last line is missing, the rewrite has stopped, and another such request
 * continues it. A process runs one rewrite at a time; it refuses further requests (429).
 */
export class ReencryptHandler {
  readonly #parts: ReencryptHandlerParts;
  #response: ServerResponse | undefined;

  constructor(parts: ReencryptHandlerParts) {
    this.#parts = parts;
  }

  /** Starts the rewrite and the response. The rewrite ends when the client disconnects. */
  handle(context: Context): void {
    if (this.#response?.closed === false) {
      throw new ApiError('TooManyRequests', 'another re-encryption is in progress, please try again later', {
        retryAfterSeconds: 10,
      });
    }
    const { res: response } = context;
    this.#response = response;
    this.#parts.permissions.keepOpen(context, () => response.destroy());
    context.status = 200;
    context.set('Content-Type', exportMediaType);
    context.set('Cache-Control', 'no-store');
    context.body = Readable.from(this.#report());
  }

  /** Stops the current rewrite and its response, if there is one. */
  close(): void {
    this.#response?.destroy();
  }

  async *#report(): AsyncGenerator<string, void, undefined> {
    const { clock, logger, rewrite } = this.#parts;
    let reportedMs = clock.monotonicMs();
    let last: RewriteProgress | undefined;
    try {
      for await (const progress of rewrite()) {
        last = progress;
        if (clock.monotonicMs() - reportedMs < reportMs) continue;
        reportedMs = clock.monotonicMs();
        yield `${JSON.stringify(progress)}\n`;
      }
    } catch (err) {
      logger.error({ err }, 'objects could not be encrypted again');
      throw err;
    }
    logger.info({ ...last }, 'all readable objects are stored as the encryption configuration requires');
    yield `${JSON.stringify({ ...last, done: true })}\n`;
  }
}
