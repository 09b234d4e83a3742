import { createReadStream } from 'node:fs';
import type { ReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Logger } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { RequestPermissions } from '../access/request-permissions.ts';
import type { Store } from '../../store/store.ts';
import { StoreError } from '../../store/store-error.ts';

const mediaType = 'application/vnd.sqlite3';

export interface BackupHandlerParts {
  /** The store without decryption, which returns the bytes as they are stored. */
  readonly stored: Store;
  readonly logger: Logger;
  readonly permissions: RequestPermissions;
}

/**
 * Handles `GET /backup`: sends a copy of the SQLite file, at the speed of the client. All workers together send one
 * backup at a time; further requests are refused (429).
 */
export class BackupHandler {
  readonly #parts: BackupHandlerParts;
  #isBusy = false;
  #response: ServerResponse | undefined;

  constructor(parts: BackupHandlerParts) {
    this.#parts = parts;
  }

  /**
   * Makes a copy of the SQLite file, and sends it. The copy has all writes that were acknowledged before the call.
   * Rejects if the copy cannot be made.
   */
  async handle(context: Context): Promise<void> {
    const { res: response } = context;
    this.#parts.permissions.keepOpen(context, () => response.destroy());
    const { path, size } = await this.#copy();
    this.#response = response;
    const copy = this.#streamOf(path);
    // The client may have disconnected, or may have lost its permission, while the copy was made.
    if (response.destroyed) copy.destroy();
    context.status = 200;
    context.set('Content-Type', mediaType);
    context.set('Cache-Control', 'no-store');
    context.length = size;
    context.body = copy;
  }

  /** Cuts off the backup that is being sent, if there is one. */
  close(): void {
    this.#response?.destroy();
  }

  async #copy(): Promise<{ readonly path: string; readonly size: number }> {
    const { stored } = this.#parts;
    if (stored.backUp === undefined) {
      const others = 'pg_dump, mysqldump, etcdctl snapshot save, or homeostat export';
      throw new ApiError(
        'BadRequest',
        `the server backs up only a database in a SQLite file: for this database, use ${others}`,
      );
    }
    if (this.#isBusy) throw underWay();
    this.#isBusy = true;
    try {
      const path = await stored.backUp();
      return { path, size: (await stat(path)).size };
    } catch (error) {
      this.#isBusy = false;
      // The lock means that another worker on the same database is sending a backup.
      if (error instanceof StoreError && error.code === 'locked') throw underWay(error);
      this.#parts.logger.error({ err: error }, 'a backup could not be made');
      throw refusalOf(error);
    }
  }

  /** Returns a stream of the file. Deletes the file when it has been sent, or could not be sent. */
  #streamOf(path: string): ReadStream {
    const stream = createReadStream(path);
    stream.once('close', () => {
      rm(path, { force: true })
        .catch((err: unknown) => this.#parts.logger.error({ err }, 'a backup could not be deleted'))
        .finally(() => (this.#isBusy = false));
    });
    return stream;
  }
}

function underWay(cause?: Error): ApiError {
  const message = 'a backup is under way, please try again later';
  return new ApiError('TooManyRequests', message, { cause, retryAfterSeconds: 10 });
}

function refusalOf(cause: unknown): ApiError {
  if (cause instanceof StoreError && cause.code === 'full') {
    const message =
      'the disk of the database has no space for a copy: the free space must be at least the size of the database file';
    return new ApiError('InsufficientStorage', message, { cause });
  }
  const message = 'the database cannot be copied at the moment';
  return new ApiError('ServiceUnavailable', message, { cause, retryAfterSeconds: 1 });
}
