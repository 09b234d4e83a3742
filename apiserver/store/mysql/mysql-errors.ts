import type { JsonObject } from '@homeostat/controller-runtime/api';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import { StoreError, type StoreErrorCode } from '../store-error.ts';

/** An error for a lost connection. The pending requests may have been executed or not. */
export class LostConnectionError extends Error {
  override readonly name = 'LostConnectionError';
}

/** An error that the server sent. */
class MysqlServerError extends Error {
  override readonly name = 'MysqlServerError';
  readonly errno: number;

  constructor(errno: number, message: string) {
    super(message);
    this.errno = errno;
  }
}

const lockWaitTimeout = 1205;
const deadlock = 1213;
/** The error number after KILL QUERY, with which an administrator interrupts a statement. */
const interrupted = 1317;

/**
 * The numbers of errors with which the server ends a connection: shutdown, KILL (in MariaDB and in MySQL), and a
 * connection that was idle for too long.
 */
const farewells: ReadonlySet<unknown> = new Set([1053, 1927, 3169, 4031]);

/**
 * The codes for error numbers of the server: https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html,
 * https://mariadb.com/kb/en/mariadb-error-codes
 */
const codes: Readonly<Record<number, StoreErrorCode>> = {
  // 1021: the disk is full. 1114: the table is full.
  1021: 'full',
  1114: 'full',
  // 1290: an option such as --read-only or super_read_only. 1792: a read-only transaction. 1836: a server in read-only
  // mode. 1874: a read-only InnoDB. 1036: a read-only table.
  1290: 'readOnly',
  1792: 'readOnly',
  1836: 'readOnly',
  1874: 'readOnly',
  1036: 'readOnly',
  // 1205: another session held a lock for too long. 1213: a deadlock with another session.
  [lockWaitTimeout]: 'locked',
  [deadlock]: 'locked',
  // The table has crashed, or its repair has failed; an index is corrupt; a table is missing or corrupt.
  1194: 'corrupt',
  1195: 'corrupt',
  1712: 'corrupt',
  1877: 'corrupt',
  // Errors of the file system; too many connections, in total or of this user; a blocked host.
  1026: 'io',
  1030: 'io',
  1040: 'io',
  1129: 'io',
  1203: 'io',
  1226: 'io',
  [interrupted]: 'io',
};

/** The message of MySQL when the disk of a table is full: "Got error 28", which is ENOSPC. */
const noSpace = /\b(error|errno:?) 28\b/;

/**
 * Returns a StoreError unchanged. For any other failure, returns a StoreError whose message starts with `doing`, and
 * contains neither a statement nor a password.
 */
export function storeErrorFrom(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const { message } = error instanceof Error ? error : new Error(String(error));
  return new StoreError(codeOf(error), `${doing}: ${message}`, { cause: error });
}

/**
 * Returns true when another attempt may succeed: after a lost connection, a deadlock, or KILL QUERY. After a lost
 * connection, the transaction may have been written.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof LostConnectionError) return true;
  return error instanceof MysqlServerError && (error.errno === deadlock || error.errno === interrupted);
}

/** Returns true when another session had the lock for too long. The statement has changed nothing. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof MysqlServerError && error.errno === lockWaitTimeout;
}

function codeOf(error: unknown): StoreErrorCode {
  if (error instanceof LostConnectionError) return 'io';
  if (!(error instanceof MysqlServerError)) return 'refused';
  if (error.errno === 1030 && noSpace.test(error.message)) return 'full';
  return codes[error.errno] ?? 'refused';
}

/**
 * Returns the driver's error without the text of the statement, which contains users' data. An error with an `errno`
 * above zero and an `sqlState` is an error of the server, unless the server ends the connection with it. Any other
 * error is an error of the connection.
 */
export function fromDriver(error: unknown): Error {
  const { errno, sqlState, code, message }: JsonObject = isJsonObject(error) ? error : {};
  const text = typeof message === 'string' && message !== '' ? message : String(code ?? error);
  const isServers = typeof errno === 'number' && errno > 0 && typeof sqlState === 'string';
  return isServers && !farewells.has(errno) ? new MysqlServerError(errno, text) : new LostConnectionError(text);
}
