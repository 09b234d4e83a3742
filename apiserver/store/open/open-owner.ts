import type { Duplex } from 'node:stream';
import { parseDatabaseUrl } from './database-url.ts';

/** A SQLite database that this process has open for servers in other processes of this machine. */
export interface DatabaseOwner {
  /**
   * Serves the process at the other end of the stream until the stream closes. To connect, that process starts a server
   * with the URL of the database and `?owner=<stream>`. `<stream>` is the path of a socket, or `fd:<number>` for an
   * inherited stream.
   */
  connect(stream: Duplex): void;
  /**
   * Resolves with an error when the database cannot be used until this process is started again. Otherwise it stays
   * pending.
   */
  readonly failed: Promise<Error>;
  /** Ends all streams, and closes the database. May be called again. */
  close(): Promise<void>;
}

/**
 * Opens a database (`sqlite:<file>`) that several servers of this machine use together. Rejects with RangeError for any
 * other URL, and with StoreError when the database cannot be opened. The error's code is `locked` when another process
 * has the database open.
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
