import type { MysqlConnection } from './mysql-connection.ts';
import * as sql from './mysql-statements.ts';
import { StoreError } from '../store-error.ts';

/**
 * One store a database, for as long as what is above it keeps all objects in memory and hears of nobody else's writes.
 * This file is all of that rule: the lock, which lives as long as the session that writes, and the counter, which must
 * not have moved without us.
 */
const lockName = `CONCAT('homeostat:', SHA1(LOWER(DATABASE())))`;

/** Long enough for the server to see that the session of a process that was just killed is gone. */
const lockTimeoutS = 2;

/** Longer: a transaction of ours that was under way has to be undone. */
const evictedTimeoutS = 5;

/** The session that has the lock, and the secret by which it is known as this store's. */
export interface Ownership {
  readonly sessionId: number;
  readonly token: string;
}

/** Takes the lock. `before`: this store's session of before, which the server may not yet know to be dead. */
export async function lockDatabase(connection: MysqlConnection, name: string, before?: Ownership): Promise<void> {
  const isEvicted = before !== undefined && (await evict(connection, before));
  if (await isLocked(connection, isEvicted ? evictedTimeoutS : lockTimeoutS)) return;
  const holder = await holderOf(connection);
  throw new StoreError(
    'locked',
    `${name} is in use by another process or store (the server's connection ${holder ?? 'of a moment ago'}); only one may have it`,
  );
}

/** At once: a session that ends keeps its locks until the server has come to it. */
export async function unlockDatabase(connection: MysqlConnection): Promise<void> {
  await connection.query(`DO RELEASE_LOCK(${lockName})`);
}

/** To be called with the lock, and with the tables there. */
export async function markOwner(connection: MysqlConnection, token: string): Promise<Ownership> {
  await connection.query(sql.setMeta('owner', token));
  return { sessionId: connection.id, token };
}

/**
 * Ends this store's session of before, if it still lives: its transaction may hold the counter. Numbers of sessions begin
 * again when a server restarts, so that the number alone is no proof; who has the lock has written its token.
 */
export async function evict(connection: MysqlConnection, { sessionId, token }: Ownership): Promise<boolean> {
  if ((await holderOf(connection)) !== sessionId) return false;
  const [[[owner] = []] = []] = await connection.query(sql.getMeta('owner'));
  if (String(owner) !== token) return false;
  await connection.query(`KILL ${sql.int(sessionId)}`).catch(() => undefined);
  return true;
}

/** To be called under the counter's lock. */
export function checkUnmoved(counter: number, known: number, name: string): void {
  if (counter === known) return;
  throw new StoreError(
    'diverged',
    `${name} is at revision ${counter}, this store at ${known}: it was written by someone else, or a write of unknown ` +
      'outcome went through; restart the server',
  );
}

async function isLocked(connection: MysqlConnection, timeoutS: number): Promise<boolean> {
  const [[[taken] = []] = []] = await connection.query(`SELECT GET_LOCK(${lockName}, ${sql.int(timeoutS)})`);
  return taken === 1;
}

async function holderOf(connection: MysqlConnection): Promise<number | undefined> {
  const [[[holder] = []] = []] = await connection.query(`SELECT IS_USED_LOCK(${lockName})`);
  return holder === null || holder === undefined ? undefined : Number(holder);
}
