import { PostgresConnection } from './postgres-connection.ts';
import { isServerError, storeErrorFrom } from './postgres-errors.ts';
import * as sql from './postgres-statements.ts';
import { pendingMigrations } from '../schema-version.ts';
import { StoreError } from '../store-error.ts';

/** 13 is the first with `gen_random_uuid`. */
const oldestVersion = 130_000;

/** A session as the server knows it. */
export interface SessionIdentity {
  readonly pid: number;
  readonly started: string;
}

/** What another session, which may live on, needs to know of an earlier one of this store. */
export interface WritingSession {
  readonly connection: PostgresConnection;
  readonly identity: SessionIdentity;
}

/**
 * A session that may write: it has the store's lock for as long as it lives, so that no other store writes, and the
 * tables are there. `before` is this store's session of before, whose transaction, if one is left, is ended first.
 */
export async function openWritingSession(url: string, before?: SessionIdentity): Promise<WritingSession> {
  const connection = await PostgresConnection.open(url);
  try {
    const identity = await identify(connection);
    if (before) await connection.query(sql.endSession, [before.pid, before.started]);
    await takeLock(connection);
    await transaction(connection, () => migrate(connection));
    return { connection, identity };
  } catch (error) {
    connection.destroy();
    throw storeErrorFrom(error, connection.name);
  }
}

/** Commits what `body` does, or nothing of it. Rejects with the server's error; or with another, and who knows. */
export async function transaction<Result>(
  connection: PostgresConnection,
  body: () => Promise<Result>,
): Promise<Result> {
  await connection.execute('BEGIN');
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

async function identify(connection: PostgresConnection): Promise<SessionIdentity> {
  const [session] = await connection.query<SessionIdentity & { version: number }>(sql.identifySession);
  if (!session) throw new StoreError('io', `${connection.name} does not know its own session`);
  if (session.version < oldestVersion) {
    const found = Math.floor(session.version / 10_000);
    throw new StoreError('refused', `${connection.name} is PostgreSQL ${found}; 13 or newer is needed`);
  }
  return { pid: session.pid, started: session.started };
}

/**
 * The one place that keeps a second store out: the registry above answers reads from memory, and would not see what
 * another one writes. What the lock guards is safe without it; the counter's row orders the writers.
 */
async function takeLock(connection: PostgresConnection): Promise<void> {
  try {
    await connection.query(sql.lockStore);
  } catch (error) {
    if (!isServerError(error) || error.code !== '55P03') throw error;
    const holders = await connection.query<{ pid: number }>(sql.findLockHolder);
    const pids = holders.map(({ pid }) => pid).join(', ');
    throw new StoreError(
      'locked',
      `${connection.name} is in use by another server${pids === '' ? '' : ` (its session has pid ${pids})`}; only one may have it`,
    );
  }
}

async function migrate(connection: PostgresConnection): Promise<void> {
  await connection.query(sql.lockMigrations);
  const migrations = pendingMigrations({
    migrations: sql.migrations,
    version: await schemaVersion(connection),
    name: connection.name,
  });
  if (migrations.length === 0) return;
  await connection.execute(sql.createMeta);
  for (const migration of migrations) await connection.execute(migration);
  await connection.query(sql.setMeta, ['schema', String(sql.migrations.length)]);
}

async function schemaVersion(connection: PostgresConnection): Promise<number> {
  const [meta] = await connection.query<{ found: boolean }>(sql.hasMeta);
  if (meta?.found !== true) return 0;
  const [row] = await connection.query<{ value: string }>(sql.getMeta, ['schema']);
  return Number(row?.value ?? 0);
}
