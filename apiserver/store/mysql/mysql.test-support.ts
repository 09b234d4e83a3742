import { randomUUID } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { type Logger, silentLogger } from '@homeostat/controller-runtime/api';

import { MysqlConnection, type ResultRow } from './mysql-connection.ts';
import { createMysqlStore, type MysqlStoreParts } from './mysql-store.ts';
import { type MysqlDatabase, parseMysqlUrl } from './mysql-url.ts';
import type { Store } from '../store.ts';

/** A server whose user may create databases and users; tests create their own databases there, and drop them. */
const url = process.env['HOMEOSTAT_TEST_MYSQL'] ?? 'mysql://root@127.0.0.1:3306';
export const mysqlServer: MysqlDatabase = parseMysqlUrl(new URL('/mysql', url).href);

/** The rest of a URL of this server, from `//` on: with its credentials, up to its port. */
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

/** An empty database, until {@link dropDatabases}. */
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

/** A logger that keeps its warnings. */
export function warningsOf(): { readonly logger: Logger; readonly warnings: string[] } {
  const warnings: string[] = [];
  return {
    warnings,
    logger: { ...silentLogger, warn: (fields, message) => warnings.push(`${message} ${JSON.stringify(fields)}`) },
  };
}

/** Tests that need the server. Without one they are skipped, unless an address was given. */
export function describeWithMysql(name: string, tests: (this: Mocha.Suite) => void): void {
  describe(name, function () {
    before(async function connect() {
      try {
        await administer('DO 0');
      } catch (error) {
        if (process.env['HOMEOSTAT_TEST_MYSQL'] !== undefined) throw error;
        this.skipBecause('there is no MySQL or MariaDB: HOMEOSTAT_TEST_MYSQL says where', error);
      }
    });
    tests.call(this);
  });
}
