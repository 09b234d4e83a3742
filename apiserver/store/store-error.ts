/**
 * The reason why a store failed.
 * - `refused`: the engine refused this request, nothing was written; a batch of several may be tried again in parts
 * - `full`: the disk is full, nothing was written (507 or 503 to a client)
 * - `readOnly`, `io`: the medium fails; after `io` in a commit, the next start shows the outcome
 * - `corrupt`: not a database, or a damaged one
 * - `locked`: another process or store has the database
 * - `newer`: a newer program has upgraded the database, before it was opened or since; nothing was written
 * - `crashed`: the store's worker ended by itself; what was in flight may or may not be written
 * - `closed`: not open, or closed already
 * - `unknown`: the connection was lost before the response to a commit, and the database cannot be asked in time
 *   whether the batch was written; it may be written now, or later
 * - `diverged`: the database is another one, or no longer holds what this store has written: it has to be opened
 *   again
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

/** A failure of the storage itself; conflicts are outcomes, not errors. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The code of a store's error; undefined for any other value. */
export function storeErrorCodeOf(error: unknown): StoreErrorCode | undefined {
  return error instanceof StoreError ? error.code : undefined;
}

/** The error of callers while an open store cannot connect: they are not at fault, so `refused` becomes `io`. */
export function withoutConnection(error: Error): Error {
  return storeErrorCodeOf(error) === 'refused' ? new StoreError('io', error.message, { cause: error }) : error;
}
