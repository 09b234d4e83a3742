import type { Clock } from '@homeostat/controller-runtime/api';

import { MysqlConnection } from './mysql-connection.ts';
import { storeErrorFrom } from './mysql-errors.ts';
import { int } from './mysql-statements.ts';
import { type MysqlDatabase, nameOf } from './mysql-url.ts';
import { StoreError } from '../store-error.ts';

/**
 * The smallest `max_allowed_packet` with which the store opens a database. An object has up to 1.5 MiB, and a row of
 * the log may contain two states of an object.
 */
const minPacketBytes = 4 * 1024 * 1024;

export interface SessionParts {
  readonly database: MysqlDatabase;
  readonly clock: Clock;
  /**
   * The idle timeout, in seconds. The server ends a session that is idle for longer, releases its locks, and rolls back
   * its transaction.
   */
  readonly idleTimeoutS: number;
}

/**
 * Returns the settings of a session. The reasons for them:
 *
 * - `sql_mode`: the server must refuse a key that is too long, instead of truncating it.
 * - READ COMMITTED: each statement sees everything that was committed before it. So what a session reads after it has
 *   locked the row of the revision counter is current.
 * - `innodb_lock_wait_timeout`, in seconds, ends a deadlock of three sessions that the server does not detect. Session A
 *   has locked the row of the counter, and B waits for this lock. An administrator's session (FLUSH TABLES WITH READ
 *   LOCK, SET GLOBAL read_only) waits for B. The next statement of A waits for the administrator's session.
 * - `net_read_timeout`, in seconds: when a client stops in the middle of a statement, its session keeps the lock of the
 *   counter for at most this time.
 */
function settings(idleTimeoutS: number): readonly string[] {
  return [
    `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION autocommit = 1,
      SESSION innodb_lock_wait_timeout = 2, SESSION lock_wait_timeout = 30, SESSION wait_timeout = ${int(idleTimeoutS)},
      SESSION net_read_timeout = 8, SESSION net_write_timeout = 60`,
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  ];
}

/**
 * Opens a connection, and sets its settings. Rejects with StoreError; the code is `io` while the server does not
 * respond.
 */
export async function openSession({ database, clock, idleTimeoutS }: SessionParts): Promise<MysqlConnection> {
  let connection: MysqlConnection | undefined;
  try {
    connection = await MysqlConnection.open(database, clock);
    await connection.query(...settings(idleTimeoutS));
    return connection;
  } catch (error) {
    connection?.destroy();
    throw storeErrorFrom(error, `cannot connect to ${nameOf(database)}`);
  }
}

/**
 * The version and the settings of a server that decide whether the store can use it, and whether commits survive a
 * power cut.
 */
export interface ServerFacts {
  readonly version: string;
  readonly maxPacketBytes: number;
  /** With 1, every commit is synced to the disk. */
  readonly flushLogAtCommit: number;
  readonly hasBinaryLog: boolean;
  /**
   * With 1, the binary log is synced to the disk at every commit as well. After a crash, recovery rolls back a
   * transaction that is missing in the binary log.
   */
  readonly syncBinaryLog: number;
}

export async function readFacts(connection: MysqlConnection): Promise<ServerFacts> {
  const [[row = []] = []] = await connection.query(
    'SELECT VERSION(), @@max_allowed_packet, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog',
  );
  const [version, maxPacketBytes, flushLogAtCommit, hasBinaryLog, syncBinaryLog] = row;
  return {
    version: String(version),
    maxPacketBytes: Number(maxPacketBytes),
    flushLogAtCommit: Number(flushLogAtCommit),
    hasBinaryLog: Number(hasBinaryLog) === 1,
    syncBinaryLog: Number(syncBinaryLog),
  };
}

/** Throws StoreError `refused` for an unsuitable server. */
export function checkServer({ version, maxPacketBytes }: ServerFacts, name: string): void {
  if (!isSupported(version)) {
    throw new StoreError('refused', `${name} is ${version}: MySQL 8.0 or MariaDB 10.6 is the oldest that works`);
  }
  if (maxPacketBytes < minPacketBytes) {
    throw new StoreError(
      'refused',
      `${name} has max_allowed_packet = ${maxPacketBytes}, less than an object may need: set it to 16M`,
    );
  }
}

/** Returns the reason why acknowledged writes may be lost in a power cut; undefined when they cannot be lost. */
export function durabilityGap(facts: ServerFacts): string | undefined {
  const { flushLogAtCommit, hasBinaryLog, syncBinaryLog } = facts;
  if (flushLogAtCommit !== 1) return `innodb_flush_log_at_trx_commit is ${flushLogAtCommit}, not 1`;
  if (hasBinaryLog && syncBinaryLog !== 1) return `sync_binlog is ${syncBinaryLog}, not 1`;
  return undefined;
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  // The version text of a MariaDB server contains `MariaDB`. MariaDB has a separate minimum version, because it
  // numbered the successor of 5.5 as 10.0.
  const [oldestMajor, oldestMinor] = version.includes('MariaDB') ? [10, 6] : [8, 0];
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
