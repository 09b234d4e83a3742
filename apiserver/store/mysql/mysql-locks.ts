import type { MysqlConnection } from './mysql-connection.ts';
import { int, hex } from './mysql-statements.ts';
import { StoreError } from '../store-error.ts';

/**
 * The number of stores that may have one database open. MySQL has no shared user-level locks, so there are this many
 * exclusive ones: a store takes any one of them, and a store that needs the database for itself takes all. The locks
 * live as long as the writing session.
 */
const maxStores = 64;

/**
 * The time, in seconds, to wait for a lock. It is long enough for the server to notice that the session of a killed
 * process is gone.
 */
const timeoutS = 2;

/**
 * The time to wait after an earlier session of this store was ended, in seconds. It is longer because a running
 * transaction of that session has to be rolled back.
 */
const evictedTimeoutS = 5;

export interface LockRequest {
  /** The database's name in messages. */
  readonly name: string;
  /** Only this store knows the token. */
  readonly token: string;
  /** True when no other store may have the database open. */
  readonly exclusive: boolean;
}

// Names of locks have at most 64 characters, and are global to the server.
const places = Array.from(
  { length: maxStores },
  (_, place) => `CONCAT('homeostat:', SHA1(LOWER(DATABASE())), ':${place}')`,
);
const ownLock = (token: string): string => `CONCAT('homeostat-store:', SHA1(${hex(token)}))`;

// The server evaluates operands only until one of them decides. So one form takes a single place, and the other takes
// all places up to the first that is not free.
const takeAny = places.map((place) => `GET_LOCK(${place}, 0)`).join(' OR ');
const takeAll = places.map((place) => `GET_LOCK(${place}, ${timeoutS})`).join(' AND ');
// Looks at all places, waits for the first one, and then looks at all again: a store that holds all places releases
// them together, but of many stores that hold one place each, any may release its place.
const takeAnyInTime = `${takeAny} OR GET_LOCK(${places[0]}, ${timeoutS}) OR ${takeAny}`;
const listHolders = `SELECT ${places.map((place) => `IS_USED_LOCK(${place})`).join(', ')}`;

/**
 * Takes the locks of a store after its earlier session has ended. Rejects with StoreError `locked` when another store
 * excludes this one, and with `refused` when too many stores have the database open.
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

/** Releases the locks at once: a session that ends keeps them until the server has noticed. */
export async function unlockDatabase(connection: MysqlConnection): Promise<void> {
  await connection.query('DO RELEASE_ALL_LOCKS()');
}

/** Ends this store's earlier session if it still exists: its transaction may hold the counter. */
export async function evict(connection: MysqlConnection, token: string): Promise<void> {
  const [[[session] = []] = []] = await connection.query(`SELECT IS_USED_LOCK(${ownLock(token)})`);
  if (session === null || session === undefined) return;
  // The session may have ended by itself. If it cannot be ended, its locks show that it still exists.
  await connection.query(`KILL ${int(Number(session))}`).catch(() => undefined);
}

function refusal(holders: readonly number[], { name, exclusive }: LockRequest): StoreError {
  const sessions = `the server's connection${holders.length > 1 ? 's' : ''} ${holders.join(', ') || 'of its last session'}`;
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

/** The server's ids of the sessions of other stores. */
async function holdersOf(connection: MysqlConnection): Promise<number[]> {
  const [[holders = []] = []] = await connection.query(listHolders);
  const sessions = new Set(holders.filter((holder) => holder !== null).map(Number));
  sessions.delete(connection.id);
  return [...sessions];
}
