import type { Clock } from '@homeostat/controller-runtime/api';

import { MysqlConnection } from './mysql-connection.ts';
import { storeErrorFrom } from './mysql-errors.ts';
import * as sql from './mysql-statements.ts';
import { type MysqlDatabase, nameOf } from './mysql-url.ts';
import { checkSchemaVersion, pendingMigrations, type SchemaVersions } from '../schema-version.ts';
import { StoreError } from '../store-error.ts';

/**
 * The lock for migrations, in addition to the locks of stores. One process migrates; others that start meanwhile wait,
 * and then find the migration done.
 */
const lockName = `CONCAT('homeostat-schema:', SHA1(LOWER(DATABASE())))`;
const lockTimeoutS = 30;

export interface MigrationParts {
  /** The name of the database, for messages. */
  readonly name: string;
  /** The epoch for a new database. */
  readonly epoch: string;
}

/**
 * Migrates the tables to this program's version. DDL cannot be rolled back, so a crash can leave a migration half done.
 * Therefore every migration can be repeated, and its version is stored only when the migration is done. The next start
 * repeats a migration that was interrupted.
 */
export async function migrate(connection: MysqlConnection, parts: MigrationParts): Promise<void> {
  const [[[taken] = []] = []] = await connection.query(`SELECT GET_LOCK(${lockName}, ${lockTimeoutS})`);
  if (taken !== 1) throw new StoreError('locked', `${parts.name} is being migrated by another process`);
  try {
    await migrateLocked(connection, parts);
  } finally {
    if (!connection.isLost) await connection.query(`DO RELEASE_LOCK(${lockName})`);
  }
}

/** Returns the schema version of a database, without changing it. Rejects with StoreError. */
export async function mysqlSchema(database: MysqlDatabase, clock: Clock): Promise<SchemaVersions> {
  const name = nameOf(database);
  let connection: MysqlConnection | undefined;
  try {
    connection = await MysqlConnection.open(database, clock);
    return { stored: await schemaVersion(connection, name), known: sql.migrations.length };
  } catch (error) {
    throw storeErrorFrom(error, `cannot use ${name}`);
  } finally {
    connection?.destroy();
  }
}

async function migrateLocked(connection: MysqlConnection, { name, epoch }: MigrationParts): Promise<void> {
  const version = await schemaVersion(connection, name);
  if (version > 0) {
    const [[[target] = []] = []] = await connection.query(sql.getSchema);
    checkSchemaVersion({ migrations: sql.migrations, version: Number(target ?? 0), name });
  }
  const pending = pendingMigrations({ migrations: sql.migrations, version, name });
  if (pending.length === 0) return;
  await connection.query(sql.createMeta, sql.addMeta('epoch', epoch));
  if (version > 0) await announce(connection);
  for (const [position, migration] of pending.entries()) {
    await connection.query(migration, sql.setMeta('schema', String(version + position + 1)));
  }
}

/**
 * Stores the version to which the database is being upgraded. First locks the counter of revisions, and so waits until
 * all running writes of older programs have ended. Later writes of these programs see the new version and are refused.
 */
async function announce(connection: MysqlConnection): Promise<void> {
  const target = sql.setMeta('upgrading', String(sql.migrations.length));
  await connection.query(sql.begin, sql.lockCounter, target, sql.commit);
}

async function schemaVersion(connection: MysqlConnection, name: string): Promise<number> {
  const [tables = []] = await connection.query(sql.listTables);
  if (tables.length === 0) return 0;
  if (!tables.some(([table]) => table === 'meta')) {
    throw new StoreError('corrupt', `${name} is a database of another program`);
  }
  const [[[version] = []] = []] = await connection.query(sql.getMeta('schema'));
  // Numbers in `meta` are stored as text, because the same column has the epoch.
  return Number(String(version ?? 0));
}
