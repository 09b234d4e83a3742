import { StoreError, type StoreErrorCode } from '../store-error.ts';

/** What the server says of an error, https://www.postgresql.org/docs/current/protocol-error-fields.html */
interface ServerError extends Error {
  /** SQLSTATE. */
  readonly code: string;
  /** In the server's language, and so of no use but to know that the server sent the error. */
  readonly severity: string;
}

/** What servers say with their last breath: shut down, crashed, starting, timed out; or the connection failed. */
const farewell = /^(08|57P0|25P03)/;

// SQLSTATEs, https://www.postgresql.org/docs/current/errcodes-appendix.html; a longer prefix goes before a shorter one.
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

/** An error of a statement, after which the connection goes on. */
export function isServerError(error: unknown): error is ServerError {
  if (!(error instanceof Error)) return false;
  const { code, severity } = error as Partial<ServerError>;
  return typeof code === 'string' && typeof severity === 'string' && !farewell.test(code);
}

/** The transaction had failed before: the error that says why is an earlier one. */
export function isAfterFailure(error: unknown): boolean {
  return isServerError(error) && error.code === '25P02';
}

/** The store's error for whatever the driver threw; `doing` begins its message. Nothing of a row or a URL is in it. */
export function storeErrorFrom(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const failure = error instanceof Error ? error : new Error(String(error));
  return new StoreError(codeOf(failure), `${doing}: ${messageOf(failure)}`, { cause: withoutRows(failure) });
}

function codeOf(error: Error): StoreErrorCode {
  const { code, severity } = error as Partial<ServerError>;
  // Neither sent by the server: the connection failed.
  if (typeof severity !== 'string' || typeof code !== 'string') return 'io';
  return codes.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'refused';
}

/** An address with several answers fails with all of their errors, and no message of its own. */
function messageOf(error: Error): string {
  if (!(error instanceof AggregateError) || error.message !== '') return error.message;
  return error.errors.map((each: unknown) => (each instanceof Error ? each.message : String(each))).join('; ');
}

/** The server's details quote the row that failed, which is the users' data and has no place in a log. */
function withoutRows(error: Error): Error {
  for (const field of ['detail', 'where', 'internalQuery']) Reflect.deleteProperty(error, field);
  return error;
}
