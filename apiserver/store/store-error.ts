/**
 * The reason why a store failed.
 * - `refused`: the engine has refused this request, and nothing was written; a batch of several operations may be tried
 *   again in parts
 * - `full`: the disk is full, or the quota of the database is used up, and nothing was written (clients get 503 for a
 *   write, and 507 for a backup)
 * - `readOnly`: the storage medium or the server accepts no writes
 * - `io`: the storage medium fails, or the database server cannot handle the request at the moment; after `io` in a
 *   commit, the next start shows whether the batch was written
 * - `corrupt`: the database is damaged, or is not a database of this program
 * - `locked`: another process or store has the database open, or has held a lock for too long
 * - `newer`: a newer program has upgraded the database, before or after it was opened; nothing was written
 * - `crashed`: the worker of the store, or the process that has the database open, has ended; operations in flight may
 *   have been written or not
 * - `closed`: the store is not open yet, or already closed
 * - `unknown`: the connection was lost before the response to a commit, and the outcome cannot be looked up in time;
 *   the batch may have been written, or may be written later
 * - `diverged`: the database was replaced, or has lost writes that this store knows; the store must be opened again
 */
export type StoreErrorCode =
  | 'refused'
  | 'full'
  | 'readOnly'
  | 'io'
  | 'corrupt'
  | 'locked'
  | 'newer'
  | 'crashed'
  | 'closed'
  | 'unknown'
  | 'diverged';

/** An error of the storage itself. Conflicts are outcomes, not errors. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Returns the code of a StoreError; undefined for any other value. */
export function storeErrorCodeOf(error: unknown): StoreErrorCode | undefined {
  return error instanceof StoreError ? error.code : undefined;
}

/**
 * Returns the error for callers while an open store cannot connect. The callers are not the cause, so `refused` becomes
 * `io`.
 */
export function withoutConnection(error: Error): Error {
  return storeErrorCodeOf(error) === 'refused' ? new StoreError('io', error.message, { cause: error }) : error;
}
