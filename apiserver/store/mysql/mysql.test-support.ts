import { randomUUID } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { type Logger, silentLogger } from '@homeostat/controller-runtime/api';

import { MysqlConnection, type ResultRow } from './mysql-connection.ts';
import { createMysqlStore, type MysqlStoreParts } from './mysql-store.ts';
import { type MysqlDatabase, parseMysqlUrl } from './mysql-url.ts';
import type { Store } from '../store.ts';

/**
 * The server for tests. Its user may create databases and users. Each test creates its own databases, and drops them.
 */
const url = process.env['HOMEOSTAT_TEST_MYSQL'] ?? 'mysql://root@127.0.0.1:3306';
export const mysqlServer: MysqlDatabase = parseMysqlUrl(new URL('/mysql', url).href);

/** The start of a URL of this server without the scheme: `//`, the credentials, the host and the port. */
export const mysqlAuthority: string = url.replace(/^[a-z]+:(\/\/[^/?]*).*$/, '$1');

const databases: string[] = [];

/** Runs statements as the server's administrator. */
export async function administer(...statements: string[]): Promise<readonly (readonly ResultRow[])[]> {
  const connection = await MysqlConnection.open(mysqlServer, systemClock);
  try {
    return await connection.query(...statements);
  } finally {
    await connection.end();
  }
}

/** Creates an empty database, which {@link dropDatabases} deletes. */
export async function freshDatabase(): Promise<MysqlDatabase> {
  const database = `homeostat_test_${randomUUID().replaceAll('-', '')}`;
  databases.push(database);
  await administer(`CREATE DATABASE ${database}`);
  return { ...mysqlServer, database };
}

export async function dropDatabases(): Promise<void> {
  const drops = databases.splice(0).map((database) => `DROP DATABASE IF EXISTS ${database}`);
  if (drops.length > 0) await administer(...drops);
}

/** Returns a store that is not open yet. */
export function storeOn(database: MysqlDatabase, options: Partial<MysqlStoreParts> = {}): Store {
  return createMysqlStore({ database, clock: systemClock, logger: silentLogger, uuid: randomUUID, ...options });
}

/** Returns a logger, and the list of its warnings. */
export function warningsOf(): { readonly logger: Logger; readonly warnings: string[] } {
  const warnings: string[] = [];
  return {
    warnings,
    logger: { ...silentLogger, warn: (fields, message) => warnings.push(`${message} ${JSON.stringify(fields)}`) },
  };
}

/**
 * Adds tests that need a server. If no server responds at the default address, the tests are skipped. If
 * `HOMEOSTAT_TEST_MYSQL` names a server and it does not respond, the tests fail.
 */
export function describeWithMysql(name: string, tests: (this: Mocha.Suite) => void): void {
  describe(name, function () {
    before(async function connect() {
      try {
        await administer('DO 0');
      } catch (error) {
        if (process.env['HOMEOSTAT_TEST_MYSQL'] !== undefined) throw error;
        this.skipBecause(
          'there is no MySQL or MariaDB server at the default address; HOMEOSTAT_TEST_MYSQL can name another one',
          error,
        );
      }
    });
    tests.call(this);
  });
}
