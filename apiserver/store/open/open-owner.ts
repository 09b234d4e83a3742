import type { Duplex } from 'node:stream';
import { parseDatabaseUrl } from './database-url.ts';

/** Has a SQLite database open for servers in other processes of this machine. */
export interface DatabaseOwner {
  /**
   * Serves the process at the other end of the stream, until the stream closes. That process starts a server on the same URL with
   * `?owner=` and the path of a socket, or `fd:<number>` for a stream that it has inherited.
   */
  connect(stream: Duplex): void;
  /** Resolves with the error after which the database cannot be used until this process is started again. Otherwise it stays pending. */
  readonly failed: Promise<Error>;
  /** Ends all streams, and closes the database. May be called again. */
  close(): Promise<void>;
}

/**
 * Opens a database (`sqlite:<file>`) that several servers of this machine will serve together. Rejects with RangeError for another URL,
 * and with StoreError: `locked` when another process has it.
 */
export async function openDatabaseOwner(database: string): Promise<DatabaseOwner> {
  const location = parseDatabaseUrl(database);
  if (location.engine !== 'sqlite' || location.owner !== undefined)
    throw new RangeError('not a database that one process opens for others: expected sqlite:<file>');
  const { createSqliteStore } = await import('../sqlite/sqlite-store.ts');
  const { StoreOwner } = await import('../owner/store-owner.ts');
  const owner = new StoreOwner(createSqliteStore({ path: location.path }));
  await owner.open();
  return owner;
}
