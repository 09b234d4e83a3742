import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import { type MysqlDatabase, parseMysqlUrl } from '../mysql/mysql-url.ts';
import { parsePostgresUrl } from '../postgres/postgres-url.ts';
import type { Store } from '../store.ts';

/** What a database URL names. Paths of a file are as given: relative ones are the process's to resolve. */
export type DatabaseLocation =
  | { readonly engine: 'sqlite'; readonly path: string }
  | { readonly engine: 'memory' }
  | { readonly engine: 'mysql'; readonly database: MysqlDatabase }
  /** The URL as it came: it may hold a password. */
  | { readonly engine: 'postgres'; readonly url: string };

/** What a store needs of the world, besides its database. */
export interface StoreEnvironment {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
}

interface OpenStoreOptions {
  /**
   * Default false. True: while the store is open no other process has the database, and it does not open (`locked`) while
   * one has. Of SQLite that is so in any case.
   */
  readonly exclusive?: boolean;
}

const forms =
  'sqlite:<file>, sqlite:///<absolute file>, postgres://<user>@<host>[,<host>…]/<database>, mysql://<user>@<host>/<database> or memory:';

/**
 * Reads `sqlite:./data/homeostat.db`, `sqlite:///absolute/path`, `postgres://…` or `postgresql://…`, `mysql://…` or
 * `mariadb://…`, and `memory:`. Throws a RangeError on anything else; the
 * message never repeats a URL that may hold a password.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation {
  if (url === 'memory:') return { engine: 'memory' };
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) throw new RangeError(`not a database URL: expected ${forms}`);
  if (scheme === 'postgres' || scheme === 'postgresql') {
    // Refused here rather than at the first connection.
    parsePostgresUrl(url);
    return { engine: 'postgres', url };
  }
  if (scheme === 'mysql' || scheme === 'mariadb') return { engine: 'mysql', database: parseMysqlUrl(url) };
  if (scheme !== 'sqlite') throw new RangeError(`there is no driver for ${scheme}: databases; use ${forms}`);
  return { engine: 'sqlite', path: filePath(url.slice('sqlite:'.length)) };
}

/** The store that a URL names, not yet open. Its driver is loaded only now. */
export async function openStore(
  url: string,
  { clock, logger, uuid }: StoreEnvironment,
  options: OpenStoreOptions = {},
): Promise<Store> {
  const location = parseDatabaseUrl(url);
  if (location.engine === 'postgres') {
    const { createPostgresStore } = await import('../postgres/postgres-store.ts');
    return createPostgresStore({ clock, uuid, url: location.url, ...options });
  }
  if (location.engine === 'mysql') {
    const { createMysqlStore } = await import('../mysql/mysql-store.ts');
    return createMysqlStore({ database: location.database, clock, logger, uuid, ...options });
  }
  const { createSqliteStore } = await import('../sqlite/sqlite-store.ts');
  return createSqliteStore(location.engine === 'memory' ? { memory: true } : { path: location.path });
}

function filePath(rest: string): string {
  const path = rest.startsWith('//') ? rest.slice(2) : rest;
  if (path === '' || (rest.startsWith('//') && !path.startsWith('/'))) {
    throw new RangeError(`a sqlite: URL names a file; expected ${forms}`);
  }
  if (path.endsWith('/') || path.includes('\0'))
    throw new RangeError(`not the name of a file: ${JSON.stringify(path)}`);
  return path;
}
