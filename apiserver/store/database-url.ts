import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import { type MysqlDatabase, parseMysqlUrl } from './mysql/mysql-url.ts';
import type { Store } from './store.ts';

/** What a database URL names. Paths of a file are as given: relative ones are the process's to resolve. */
export type DatabaseLocation =
  | { readonly engine: 'sqlite'; readonly path: string }
  | { readonly engine: 'memory' }
  | { readonly engine: 'mysql'; readonly database: MysqlDatabase }
  /** The URL as it came, for the driver: it may hold a password. */
  | { readonly engine: 'postgres'; readonly url: string };

/** What a store needs of the world, besides its database. */
export interface StoreEnvironment {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
}

export interface OpenStoreOptions {
  /** No other store may have the database open meanwhile. Default false. SQLite has its file for itself in any case. */
  readonly exclusive?: boolean;
}

const forms =
  'sqlite:<file>, sqlite:///<absolute file>, postgres://<user>@<host>/<database>, mysql://<user>@<host>/<database> or memory:';

/**
 * Reads `sqlite:./data/homeostat.db`, `sqlite:///absolute/path`, `postgres://…` or `postgresql://…`, `mysql://…` or
 * `mariadb://…`, and `memory:`. Throws a RangeError on anything else; the
 * message never repeats a URL that may hold a password.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation {
  if (url === 'memory:') return { engine: 'memory' };
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) throw new RangeError(`not a database URL: expected ${forms}`);
  if (scheme === 'postgres' || scheme === 'postgresql') return { engine: 'postgres', url: serverUrl(url) };
  if (scheme === 'mysql' || scheme === 'mariadb') return { engine: 'mysql', database: parseMysqlUrl(url) };
  if (scheme !== 'sqlite') throw new RangeError(`there is no driver for ${scheme}: databases; use ${forms}`);
  return { engine: 'sqlite', path: filePath(url.slice('sqlite:'.length)) };
}

/** The store that a URL names, not yet open. Its driver is loaded only now. */
export async function openStore(
  url: string,
  { clock, logger, uuid }: StoreEnvironment,
  { exclusive = false }: OpenStoreOptions = {},
): Promise<Store> {
  const location = parseDatabaseUrl(url);
  if (location.engine === 'postgres') {
    const { createPostgresStore } = await import('./postgres/postgres-store.ts');
    return createPostgresStore({ clock, uuid, url: location.url });
  }
  if (location.engine === 'mysql') {
    const { createMysqlStore } = await import('./mysql/mysql-store.ts');
    return createMysqlStore({ database: location.database, clock, logger, uuid, exclusive });
  }
  const { createSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return createSqliteStore(location.engine === 'memory' ? { memory: true } : { path: location.path });
}

/** The driver parses it, too; but what it throws may quote the URL. */
function serverUrl(url: string): string {
  if (!URL.canParse(url) || !/^\w+:\/\//.test(url))
    throw new RangeError(`not the URL of a database server; use ${forms}`);
  return url;
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
