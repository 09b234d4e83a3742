/**
 * Why a store could not do its work.
 * - `refused`: the engine refused this request, nothing was written; a batch of several may be tried again in parts
 * - `full`: no room on the disk, nothing was written (507 or 503 to a client)
 * - `readOnly`, `io`: the medium fails; of `io` in a commit the outcome shows at the next start
 * - `corrupt`: not a database, or a damaged one
 * - `locked`: another process or store has the database
 * - `newer`: the database was written by a newer program
 * - `crashed`: the store's worker ended by itself; what was in flight may or may not be written
 * - `closed`: not open, or closed already
 * - `unknown`: the connection was lost before the answer to a commit, and the database cannot be asked in time whether it
 *   was written. See {@link StoreError.settled}
 * - `diverged`: the database holds what this store has not written, or no longer holds what it has: it has to be opened anew
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

/** Of each operation of a batch: the revision it was written with, or undefined: it was not written. */
export type SettledRevisions = readonly (number | undefined)[];

export interface StoreErrorOptions extends ErrorOptions {
  readonly settled?: Promise<SettledRevisions>;
}

/** A failure of the storage itself; conflicts are outcomes, not errors. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  /** Of `unknown`: resolves once the database can be asked again. Rejects when it never will be. */
  readonly settled: Promise<SettledRevisions> | undefined;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.settled = options.settled;
  }
}

/** The code of a store's error; undefined for any other value. */
export function storeErrorCodeOf(error: unknown): StoreErrorCode | undefined {
  return error instanceof StoreError ? error.code : undefined;
}

/** When it will be known what became of a batch; undefined where that is known, or never will be. */
export function settledOf(error: unknown): Promise<SettledRevisions> | undefined {
  return error instanceof StoreError ? error.settled : undefined;
}
