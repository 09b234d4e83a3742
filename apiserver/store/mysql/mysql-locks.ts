import type { MysqlConnection } from './mysql-connection.ts';
import { int, hex } from './mysql-statements.ts';
import { StoreError } from '../store-error.ts';

/**
 * The number of stores that may have one database open. MySQL has no shared user-level locks, so there are this many
 * exclusive locks. A store takes any one of them, and a store that needs the database exclusively takes all. The locks
 * last as long as the writing session.
 */
const maxStores = 64;

/**
 * The maximum time to wait for a lock, in seconds. In this time, MySQL notices that the session of a killed process has
 * ended.
 */
const timeoutS = 2;

/**
 * The maximum time to wait, in seconds, until an earlier session of this store has ended. It is longer than
 * {@link timeoutS}, because a running transaction of that session must be rolled back.
 */
const evictedTimeoutS = 5;

export interface LockRequest {
  /** The name of the database, for messages. */
  readonly name: string;
  /** A secret that only this store knows, and that names its lock. */
  readonly token: string;
  /** True when no other store may have the database open. */
  readonly exclusive: boolean;
}

// The names of the locks. They have at most 64 characters, and are global to the MySQL server, so they contain a hash
// of the database's name.
const places = Array.from(
  { length: maxStores },
  (_, place) => `CONCAT('homeostat:', SHA1(LOWER(DATABASE())), ':${place}')`,
);
const ownLock = (token: string): string => `CONCAT('homeostat-store:', SHA1(${hex(token)}))`;

// MySQL evaluates the operands of OR and AND only until one of them decides. So `takeAny` takes a single lock, and
// `takeAll` takes all locks up to the first one that does not become free in time.
const takeAny = places.map((place) => `GET_LOCK(${place}, 0)`).join(' OR ');
const takeAll = places.map((place) => `GET_LOCK(${place}, ${timeoutS})`).join(' AND ');
// Takes a single lock: tries each, then waits for the first one, and then tries each again. A store that holds all
// locks releases them together, so the wait for the first one is enough. If many stores hold one lock each, any of them
// may release its lock during this wait, so each lock is tried again after the wait.
const takeAnyInTime = `${takeAny} OR GET_LOCK(${places[0]}, ${timeoutS}) OR ${takeAny}`;
const listHolders = `SELECT ${places.map((place) => `IS_USED_LOCK(${place})`).join(', ')}`;

/**
 * Takes the locks of a store after its earlier session has ended. Rejects with StoreError `locked` when the earlier
 * session does not end, or when other stores have the database open and this store or one of them needs it exclusively.
 * Rejects with `refused` when too many stores have the database open.
 */
export async function lockDatabase(connection: MysqlConnection, request: LockRequest): Promise<void> {
  const { name, token, exclusive } = request;
  await evict(connection, token);
  if (!(await isTrue(connection, `GET_LOCK(${ownLock(token)}, ${evictedTimeoutS})`))) {
    throw new StoreError('locked', `${name} still has this store's previous session, which does not end`);
  }
  if (await isTrue(connection, exclusive ? takeAll : takeAnyInTime)) return;
  throw refusal(await holdersOf(connection), request);
}

/**
 * Releases the locks immediately. Otherwise MySQL would release them only after it has noticed that the session has
 * ended.
 */
export async function unlockDatabase(connection: MysqlConnection): Promise<void> {
  await connection.query('DO RELEASE_ALL_LOCKS()');
}

/**
 * Ends the earlier session of this store if it still exists, because its transaction may have the lock of the revision
 * counter.
 */
export async function evict(connection: MysqlConnection, token: string): Promise<void> {
  const [[[session] = []] = []] = await connection.query(`SELECT IS_USED_LOCK(${ownLock(token)})`);
  if (session === null || session === undefined) return;
  // The session may have ended by itself, so an error is ignored. If the session still exists, the caller notices this,
  // because the session still holds its lock.
  await connection.query(`KILL ${int(Number(session))}`).catch(() => undefined);
}

function refusal(holders: readonly number[], { name, exclusive }: LockRequest): StoreError {
  const sessions = `connection${holders.length > 1 ? 's' : ''} ${holders.join(', ') || 'that has just ended'}`;
  if (exclusive) {
    return new StoreError(
      'locked',
      `${name} is in use by other processes or stores (${sessions}); all of them must close it`,
    );
  }
  if (holders.length > 1) {
    return new StoreError('refused', `${name} is open in ${maxStores} processes or stores, the maximum`);
  }
  return new StoreError(
    'locked',
    `${name} is in use by another process or store that needs it exclusively (${sessions})`,
  );
}

async function isTrue(connection: MysqlConnection, condition: string): Promise<boolean> {
  const [[[value] = []] = []] = await connection.query(`SELECT ${condition}`);
  return value === 1;
}

/** Returns the MySQL connection ids of the other stores that have the database open, and so hold locks of it. */
async function holdersOf(connection: MysqlConnection): Promise<number[]> {
  const [[holders = []] = []] = await connection.query(listHolders);
  const sessions = new Set(holders.filter((holder) => holder !== null).map(Number));
  sessions.delete(connection.id);
  return [...sessions];
}
