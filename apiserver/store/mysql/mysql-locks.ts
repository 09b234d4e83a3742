import type { MysqlConnection } from './mysql-connection.ts';
import { int, hex } from './mysql-statements.ts';
import { StoreError } from '../store-error.ts';

/**
 * The number of stores that may have one database open. MySQL has no shared user-level locks, so there are this many
 * exclusive ones: a store takes any one of them; a store that needs the database for itself takes all. The locks live
 * as long as the writing session.
 */
const maxStores = 64;

/** Long enough for the server to see that the session of a process that was just killed is gone. Seconds. */
const timeoutS = 2;

/** Longer: a transaction of ours that was under way has to be undone. Seconds. */
const evictedTimeoutS = 5;

export interface LockOptions {
  /** The database, as messages name it. */
  readonly name: string;
  /** Known to this store alone. */
  readonly token: string;
  /** Whether no other store may have the database open. */
  readonly exclusive: boolean;
}

// Names of locks have at most 64 characters, and are of the whole server.
const places = Array.from(
  { length: maxStores },
  (_, place) => `CONCAT('homeostat:', SHA1(LOWER(DATABASE())), ':${place}')`,
);
const ownLock = (token: string): string => `CONCAT('homeostat-store:', SHA1(${hex(token)}))`;

// The server looks at no operand beyond the one that decides: one place is taken, or those up to the first that is not free.
const takeAny = places.map((place) => `GET_LOCK(${place}, 0)`).join(' OR ');
const takeAll = places.map((place) => `GET_LOCK(${place}, ${timeoutS})`).join(' AND ');
// A store that has them all gives them back together, one of many any of them.
const takeAnyInTime = `${takeAny} OR GET_LOCK(${places[0]}, ${timeoutS}) OR ${takeAny}`;
const listHolders = `SELECT ${places.map((place) => `IS_USED_LOCK(${place})`).join(', ')}`;

/**
 * Takes the locks of a store, after its session of before has ended. Rejects with StoreError `locked` when one that
 * excludes this one has the database, and with `refused` when too many have it.
 */
export async function lockDatabase(connection: MysqlConnection, options: LockOptions): Promise<void> {
  const { name, token, exclusive } = options;
  await evict(connection, token);
  if (!(await isTrue(connection, `GET_LOCK(${ownLock(token)}, ${evictedTimeoutS})`))) {
    throw new StoreError('locked', `${name} still has this store's session of before, which does not end`);
  }
  if (await isTrue(connection, exclusive ? takeAll : takeAnyInTime)) return;
  throw refusal(await holdersOf(connection), options);
}

/** At once: a session that ends keeps its locks until the server has come to it. */
export async function unlockDatabase(connection: MysqlConnection): Promise<void> {
  await connection.query('DO RELEASE_ALL_LOCKS()');
}

/** Ends this store's session of before, if it still lives: its transaction may hold the counter. */
export async function evict(connection: MysqlConnection, token: string): Promise<void> {
  const [[[session] = []] = []] = await connection.query(`SELECT IS_USED_LOCK(${ownLock(token)})`);
  if (session === null || session === undefined) return;
  // It may have ended by itself; and one that cannot be ended shows by its locks.
  await connection.query(`KILL ${int(Number(session))}`).catch(() => undefined);
}

function refusal(holders: readonly number[], { name, exclusive }: LockOptions): StoreError {
  const sessions = `the server's connection${holders.length > 1 ? 's' : ''} ${holders.join(', ') || 'of a moment ago'}`;
  if (exclusive) {
    return new StoreError(
      'locked',
      `${name} is in use by other processes or stores (${sessions}); all have to close it`,
    );
  }
  if (holders.length > 1) {
    return new StoreError('refused', `${name} is open in ${maxStores} processes or stores, and no more may have it`);
  }
  return new StoreError('locked', `${name} is in use by another process or store that has it for itself (${sessions})`);
}

async function isTrue(connection: MysqlConnection, condition: string): Promise<boolean> {
  const [[[value] = []] = []] = await connection.query(`SELECT ${condition}`);
  return value === 1;
}

/** The sessions of other stores, as the server numbers them. */
async function holdersOf(connection: MysqlConnection): Promise<number[]> {
  const [[holders = []] = []] = await connection.query(listHolders);
  const sessions = new Set(holders.filter((holder) => holder !== null).map(Number));
  sessions.delete(connection.id);
  return [...sessions];
}
