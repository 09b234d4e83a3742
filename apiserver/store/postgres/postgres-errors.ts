import { StoreError, type StoreErrorCode } from '../store-error.ts';

/** The fields of a server's error, https://www.postgresql.org/docs/current/protocol-error-fields.html */
interface ServerError extends Error {
  /** SQLSTATE. */
  readonly code: string;
  /** The severity in the server's language; it only shows that the server sent the error. */
  readonly severity: string;
}

/** Errors with which a server ends a connection (shut down, crashed, starting, timed out), or the connection failed. */
const farewell = /^(08|57P0|25P03)/;

// SQLSTATEs, https://www.postgresql.org/docs/current/errcodes-appendix.html; a longer prefix comes before a shorter
// one.
const codes: readonly (readonly [prefix: string, code: StoreErrorCode])[] = [
  ['25006', 'readOnly'],
  ['53100', 'full'],
  ['55P03', 'locked'],
  // Too many connections, no memory, cancelled by statement_timeout, shutting down, failing hardware.
  ['53', 'io'],
  ['57', 'io'],
  ['58', 'io'],
  ['08', 'io'],
  ['XX', 'corrupt'],
];

/** True for an error of a statement, after which the connection continues. */
export function isServerError(error: unknown): error is ServerError {
  if (!(error instanceof Error)) return false;
  const { code, severity }: Partial<ServerError> = error;
  return typeof code === 'string' && typeof severity === 'string' && !farewell.test(code);
}

/** True when the transaction had already failed: an earlier error is the reason. */
export function isAfterFailure(error: unknown): boolean {
  return isServerError(error) && error.code === '25P02';
}

/**
 * The store's error for any error of the driver; its message starts with `doing`. It contains no data of a row and no
 * URL.
 */
export function storeErrorFrom(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const failure = error instanceof Error ? error : new Error(String(error));
  return new StoreError(codeOf(failure), `${doing}: ${messageOf(failure)}`, { cause: withoutRows(failure) });
}

function codeOf(error: Error): StoreErrorCode {
  const { code, severity }: Partial<ServerError> = error;
  // The server always sends both, so without them the connection failed.
  if (typeof severity !== 'string' || typeof code !== 'string') return 'io';
  return codes.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'refused';
}

/** A host with several addresses fails with the errors of all of them, and without a message of its own. */
function messageOf(error: Error): string {
  if (!(error instanceof AggregateError) || error.message !== '') return error.message;
  return error.errors.map((each: unknown) => (each instanceof Error ? each.message : String(each))).join('; ');
}

/** The server's details quote the failed row, which is users' data and must not be logged. */
function withoutRows(error: Error): Error {
  for (const field of ['detail', 'where', 'internalQuery']) Reflect.deleteProperty(error, field);
  return error;
}
