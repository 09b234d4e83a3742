import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { exportMediaType } from '../../backup/export-format.ts';
import { Snapshot } from '../../backup/snapshot.ts';
import { writeExport } from '../../backup/write-export.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import type { Store } from '../../store/store.ts';

/** The time without progress after which an export is cut off: a client that does not read blocks other exports. */
const stallMs = 60_000;

export interface ExportHandlerParts {
  /** The store without decryption, which returns the bytes as they are stored. */
  readonly stored: Store;
  /** The same store with decryption, which returns the bytes of encrypted objects decrypted. */
  readonly store: Store;
  readonly epoch: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly permissions: RequestPermissions;
}

/**
 * Handles `GET /export`: sends all objects at one revision, as they are stored, at the speed of the client.
 * `GET /export/decrypted` decrypts objects that are stored encrypted. A process sends one export at a time; it refuses
 * further requests (429).
 */
export class ExportHandler {
  readonly #parts: ExportHandlerParts;
  #response: ServerResponse | undefined;

  constructor(parts: ExportHandlerParts) {
    this.#parts = parts;
  }

  /**
   * Sends an export, which has all writes that were acknowledged before the call. Rejects if it fails before the
   * response starts. If it fails later, the response is cut off.
   */
  async handle(context: Context, decrypt: boolean): Promise<void> {
    if (this.#response?.closed === false) {
      throw new ApiError('TooManyRequests', 'an export is under way, please try again later', {
        retryAfterSeconds: 10,
      });
    }
    const { res: response } = context;
    this.#response = response;
    this.#parts.permissions.keepOpen(context, () => response.destroy());
    const lines = await this.#begin(decrypt);
    const body = Readable.from(this.#send(lines, response));
    context.status = 200;
    context.set('Content-Type', exportMediaType);
    context.set('Cache-Control', 'no-store');
    context.body = body;
  }

  /** Cuts off the current export, if there is one. */
  close(): void {
    this.#response?.destroy();
  }

  async #begin(decrypt: boolean): Promise<AsyncGenerator<string, void, undefined>> {
    const { store, stored, epoch, clock, logger } = this.#parts;
    try {
      return writeExport(await Snapshot.of(decrypt ? store : stored), { epoch, nowMs: clock.now() });
    } catch (err) {
      logger.error({ err }, 'an export could not begin');
      throw new ApiError('ServiceUnavailable', 'the database cannot be read at the moment', {
        cause: err,
        retryAfterSeconds: 1,
      });
    }
  }

  async *#send(lines: AsyncGenerator<string, void, undefined>, response: ServerResponse): AsyncGenerator<string> {
    const { clock, logger } = this.#parts;
    try {
      for (;;) {
        const { value, done } = await this.#next(lines);
        if (done === true) return;
        const timer = clock.setTimeout(() => {
          logger.warn({ stallMs }, 'an export was cut off: its client read nothing');
          response.destroy();
        }, stallMs);
        try {
          yield value;
        } finally {
          clock.clearTimeout(timer);
        }
      }
    } finally {
      await lines.return();
    }
  }

  /**
   * Returns the next line. Logs any error, because it comes from the database: a client that disconnects causes no
   * error here.
   */
  async #next(lines: AsyncGenerator<string, void, undefined>): Promise<IteratorResult<string, void>> {
    try {
      return await lines.next();
    } catch (err) {
      this.#parts.logger.error({ err }, 'an export was cut off');
      throw err;
    }
  }
}
