import { connect, Socket } from 'node:net';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import { type EtcdDatabase, parseEtcdUrl } from '../etcd/etcd-url.ts';
import { type MysqlDatabase, parseMysqlUrl } from '../mysql/mysql-url.ts';
import { loadDriver } from './load-driver.ts';
import { parsePostgresUrl } from '../postgres/postgres-url.ts';
import { StoreError } from '../store-error.ts';
import type { Store } from '../store.ts';

/**
 * The parts of a database URL. Paths of files are unchanged, so relative ones depend on the working directory of the
 * process.
 */
export type DatabaseLocation =
  /**
   * A SQLite file. `owner` is the stream to the process that has the file open: the path of a socket, or `fd:<number>`
   * for an inherited stream. Without `owner`, this process opens the file itself.
   */
  | { readonly engine: 'sqlite'; readonly path: string; readonly owner?: string }
  | { readonly engine: 'memory' }
  | { readonly engine: 'mysql'; readonly database: MysqlDatabase }
  | { readonly engine: 'etcd'; readonly database: EtcdDatabase }
  /** The unchanged URL. It may contain a password. */
  | { readonly engine: 'postgres'; readonly url: string };

/** The dependencies of a store in addition to its database. */
export interface StoreEnvironment {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
}

interface OpenStoreOptions {
  /**
   * True: no other process can open the database while the store is open, and `open` rejects with `locked` while
   * another process has it open. Default false. A SQLite file that this process opens itself is always exclusive.
   */
  readonly exclusive?: boolean;
}

const forms =
  'sqlite:<file>, sqlite:///<absolute file>, postgres://<user>@<host>[,<host>…]/<database>, mysql://<user>@<host>/<database>, etcd://<host>[,<host>…]/<prefix> or memory:';

/**
 * Parses `sqlite:./data/homeostat.db`, `sqlite:///absolute/path`, `postgres://…` or `postgresql://…`, `mysql://…` or
 * `mariadb://…`, `etcd://…`, and `memory:`. `sqlite:<file>?owner=<stream>` is for the workers of one server. Throws a
 * RangeError for any other text. The message of the error does not contain a URL that may have a password.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation {
  if (url === 'memory:') return { engine: 'memory' };
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) throw new RangeError(`not a database URL: expected ${forms}`);
  if (scheme === 'postgres' || scheme === 'postgresql') {
    // This call throws for an invalid URL, which would otherwise be found only at the first connection.
    parsePostgresUrl(url);
    return { engine: 'postgres', url };
  }
  if (scheme === 'mysql' || scheme === 'mariadb') return { engine: 'mysql', database: parseMysqlUrl(url) };
  if (scheme === 'etcd') return { engine: 'etcd', database: parseEtcdUrl(url) };
  if (scheme !== 'sqlite') throw new RangeError(`there is no driver for the URL scheme "${scheme}"; use ${forms}`);
  const [, file = '', owner] = /^sqlite:(.*?)(?:\?owner=(.+))?$/is.exec(url) ?? [];
  return { engine: 'sqlite', path: filePath(file), ...(owner === undefined ? {} : { owner }) };
}

/** Returns the store for a URL. The store is not open yet. Loads the driver of the database. */
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
    await loadDriver('mysql', () => import('mysql2'));
    const { createMysqlStore } = await import('../mysql/mysql-store.ts');
    return createMysqlStore({ database: location.database, clock, logger, uuid, ...options });
  }
  if (location.engine === 'etcd') {
    const { createEtcdStore } = await loadDriver('etcd', () => import('../etcd/etcd-store.ts'));
    return createEtcdStore({ database: location.database, clock, logger, uuid, ...options });
  }
  if (location.engine === 'sqlite' && location.owner !== undefined) return openOwned(location.owner, options);
  const { createSqliteStore } = await import('../sqlite/sqlite-store.ts');
  return createSqliteStore(location.engine === 'memory' ? { memory: true } : { path: location.path });
}

async function openOwned(owner: string, { exclusive = false }: OpenStoreOptions): Promise<Store> {
  if (exclusive) throw new StoreError('locked', 'another process has the database open');
  const { createOwnedStore } = await import('../owner/owned-store.ts');
  const [, descriptor] = /^fd:(\d+)$/.exec(owner) ?? [];
  return createOwnedStore(() => (descriptor === undefined ? connect(owner) : new Socket({ fd: Number(descriptor) })));
}

function filePath(rest: string): string {
  const path = rest.startsWith('//') ? rest.slice(2) : rest;
  if (path === '' || (rest.startsWith('//') && !path.startsWith('/'))) {
    throw new RangeError(`a sqlite: URL must name a file; expected ${forms}`);
  }
  if (path.endsWith('/') || path.includes('\0'))
    throw new RangeError(`not the name of a file: ${JSON.stringify(path)}`);
  return path;
}
