import type { JsonObject } from '@homeostat/controller-runtime/api';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import { StoreError, type StoreErrorCode } from '../store-error.ts';

/** The connection is lost: pending requests may or may not have been executed. */
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
/** The error after an administrator's KILL QUERY. */
const interrupted = 1317;

/** Errors with which the server ends a connection: shutting down, killed (MariaDB, MySQL), idle for too long. */
const farewells: ReadonlySet<unknown> = new Set([1053, 1927, 3169, 4031]);

/** https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html, https://mariadb.com/kb/en/mariadb-error-codes */
const codes: Readonly<Record<number, StoreErrorCode>> = {
  // Out of disk space; the table is full.
  1021: 'full',
  1114: 'full',
  // --read-only, super_read_only; a read-only transaction; read-only mode; InnoDB is read-only.
  1290: 'readOnly',
  1792: 'readOnly',
  1836: 'readOnly',
  1874: 'readOnly',
  1036: 'readOnly',
  // Another session holds the counter, or took part in the deadlock.
  [lockWaitTimeout]: 'locked',
  [deadlock]: 'locked',
  // Crashed table, corrupt index, corrupt page.
  1194: 'corrupt',
  1195: 'corrupt',
  1712: 'corrupt',
  1877: 'corrupt',
  // The file system; too many connections, of all or of this user; host blocked.
  1026: 'io',
  1030: 'io',
  1040: 'io',
  1129: 'io',
  1203: 'io',
  1226: 'io',
  [interrupted]: 'io',
};

/** MySQL reports a full disk below a table as "Got error 28", which is ENOSPC. */
const noSpace = /\b(error|errno:?) 28\b/;

/**
 * The store's error for any failure; its message starts with `doing`. It contains neither a statement nor a password.
 */
export function storeErrorFrom(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const { message } = error instanceof Error ? error : new Error(String(error));
  return new StoreError(codeOf(error), `${doing}: ${message}`, { cause: error });
}

/** True when the transaction was not written, and another attempt may succeed. */
export function isTransient(error: unknown): boolean {
  if (error instanceof LostConnectionError) return true;
  return error instanceof MysqlServerError && (error.errno === deadlock || error.errno === interrupted);
}

/** True when another session had the lock; the statement has changed nothing. */
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
 * The driver's error without the text of the statement, which contains users' data. An error with an `errno` above zero
 * and an `sqlState` comes from the server; any other is one of the connection.
 */
export function fromDriver(error: unknown): Error {
  const { errno, sqlState, code, message }: JsonObject = isJsonObject(error) ? error : {};
  const text = typeof message === 'string' && message !== '' ? message : String(code ?? error);
  const isServers = typeof errno === 'number' && errno > 0 && typeof sqlState === 'string';
  return isServers && !farewells.has(errno) ? new MysqlServerError(errno, text) : new LostConnectionError(text);
}
