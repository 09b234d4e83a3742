import { PostgresConnection } from './postgres-connection.ts';
import { isServerError, storeErrorFrom } from './postgres-errors.ts';
import { createMeta, migrations } from './postgres-schema.ts';
import * as sql from './postgres-statements.ts';
import { pendingMigrations, type SchemaVersions } from '../schema-version.ts';
import { StoreError } from '../store-error.ts';

/** The oldest version that is accepted: 13 is the first version with `gen_random_uuid`. */
const oldestVersion = 130_000;

export interface WritingSessionParts {
  readonly url: string;
  /** The id of the store. Each new session of a store ends the earlier ones. */
  readonly storeId: string;
  /** True when no other store may have the database open during this session. */
  readonly isExclusive: boolean;
}

/**
 * Opens a session for writes, which has the lock of the store until the session ends. Resolves when the tables are
 * created or migrated, and all earlier sessions of the store have ended. A transaction that an earlier session has not
 * committed before its end will never be committed.
 */
export async function openWritingSession(parts: WritingSessionParts): Promise<PostgresConnection> {
  const connection = await PostgresConnection.open(parts.url);
  try {
    await checkVersion(connection);
    await connection.query(sql.endSessions, [parts.storeId]);
    await connection.query(sql.lockSession, [parts.storeId]);
    await takeLock(connection, parts.isExclusive);
    await transaction(connection, () => migrate(connection));
    return connection;
  } catch (error) {
    connection.destroy();
    throw storeErrorFrom(error, connection.name);
  }
}

/** Returns the schema version of a database, without changing it. Rejects with StoreError. */
export async function postgresSchema(url: string): Promise<SchemaVersions> {
  const connection = await PostgresConnection.open(url);
  try {
    await checkVersion(connection);
    return { stored: await schemaVersion(connection), known: migrations.length };
  } catch (error) {
    throw storeErrorFrom(error, connection.name);
  } finally {
    connection.destroy();
  }
}

/**
 * The isolation of a transaction. With READ COMMITTED, each statement sees everything that was committed before the
 * statement began, so a statement after the lock of the revision counter sees the current state. With REPEATABLE READ,
 * all statements see the same state.
 */
export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ';

/**
 * Runs `body` in a transaction, which is committed as a whole or not at all. After an error that the server has sent,
 * or a StoreError, nothing is written. After any other error, the outcome is unknown.
 */
export async function transaction<Result>(
  connection: PostgresConnection,
  body: () => Promise<Result>,
  isolation: Isolation = 'READ COMMITTED',
): Promise<Result> {
  await connection.execute(`BEGIN ISOLATION LEVEL ${isolation}`);
  try {
    const result = await body();
    const { warnings } = connection;
    await connection.execute('COMMIT');
    if (connection.warnings > warnings) throw new Error('the server did not wait for its standby');
    return result;
  } catch (error) {
    if (!isServerError(error) && !(error instanceof StoreError)) throw error;
    await connection.execute('ROLLBACK');
    throw error;
  }
}

async function checkVersion(connection: PostgresConnection): Promise<void> {
  const [server] = await connection.query<{ version: number }>(sql.getServerVersion);
  const version = server?.version ?? 0;
  if (version >= oldestVersion) return;
  const found = Math.floor(version / 10_000);
  throw new StoreError('refused', `${connection.name} is PostgreSQL ${found}; 13 or newer is needed`);
}

/**
 * Takes the lock of the database: a shared lock, or an exclusive one if no other store may have the database open. This
 * lock does not put the writes of several stores in order; the lock of the counter's row does.
 */
async function takeLock(connection: PostgresConnection, isExclusive: boolean): Promise<void> {
  try {
    await connection.query(isExclusive ? sql.ownStore : sql.shareStore);
  } catch (error) {
    if (!isServerError(error) || error.code !== '55P03') throw error;
    const holders = await connection.query<{ pid: number }>(sql.findLockHolders);
    const pids = holders.map(({ pid }) => pid).join(', ');
    throw new StoreError(
      'locked',
      `${connection.name} is ${isExclusive ? 'in use' : 'held for exclusive use'} by another process${pids === '' ? '' : ` (sessions with pid ${pids})`}`,
    );
  }
}

async function migrate(connection: PostgresConnection): Promise<void> {
  await connection.query(sql.lockMigrations);
  const pending = pendingMigrations({
    migrations,
    version: await schemaVersion(connection),
    name: connection.name,
  });
  if (pending.length === 0) return;
  if (pending.length < migrations.length) await awaitWriters(connection);
  await connection.execute(createMeta);
  for (const migration of pending) await connection.execute(migration);
  await connection.query(sql.setMeta, ['schema', String(migrations.length)]);
}

/**
 * Waits for the running writes of older programs that use the database. Later writes of these programs read the new
 * schema version, and are refused.
 */
async function awaitWriters(connection: PostgresConnection): Promise<void> {
  await connection.execute(sql.waitLonger);
  await connection.query(sql.ownSchema);
  await connection.query(sql.lockCounter);
}

async function schemaVersion(connection: PostgresConnection): Promise<number> {
  const [meta] = await connection.query<{ found: boolean }>(sql.hasMeta);
  if (meta?.found !== true) return 0;
  const [row] = await connection.query<{ version: number }>(sql.getSchema);
  return row?.version ?? 0;
}
