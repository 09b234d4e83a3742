import { StoreError, type StoreErrorCode } from '../store-error.ts';

/**
 * The fields of an error that the server has sent, see
 * https://www.postgresql.org/docs/current/protocol-error-fields.html.
 */
interface ServerError extends Error {
  /** The SQLSTATE code of the error. */
  readonly code: string;
  /** The severity in the server's language. It is used only as a sign that the server has sent the error. */
  readonly severity: string;
}

/**
 * The codes of errors after which the connection has ended: the server shuts down, has crashed, is starting or has
 * ended the session after a timeout; or the connection has failed.
 */
const farewell = /^(08|57P0|25P03)/;

// SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html. A longer prefix must come before a shorter
// one.
const codes: readonly (readonly [prefix: string, code: StoreErrorCode])[] = [
  ['25006', 'readOnly'],
  ['53100', 'full'],
  ['55P03', 'locked'],
  // These four classes become `io`: too many connections or too little memory (53), an expired statement_timeout or a
  // server that is stopping (57), failing hardware (58), and a failed connection (08).
  ['53', 'io'],
  ['57', 'io'],
  ['58', 'io'],
  ['08', 'io'],
  // Damaged data or a damaged index. Other internal errors may be temporary; connection poolers send them, too.
  ['XX001', 'corrupt'],
  ['XX002', 'corrupt'],
  ['XX', 'io'],
];

/** Returns true for an error that the server has sent, after which the connection can still be used. */
export function isServerError(error: unknown): error is ServerError {
  if (!(error instanceof Error)) return false;
  const { code, severity }: Partial<ServerError> = error;
  return typeof code === 'string' && typeof severity === 'string' && !farewell.test(code);
}

/** Returns true when a statement failed only because an earlier one in the transaction had failed. */
export function isAfterFailure(error: unknown): boolean {
  return isServerError(error) && error.code === '25P02';
}

/**
 * Returns a StoreError unchanged. For an error of the driver, returns a StoreError whose message starts with `doing`,
 * and contains neither data of a row nor a URL.
 */
export function storeErrorFrom(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const failure = error instanceof Error ? error : new Error(String(error));
  return new StoreError(codeOf(failure), `${doing}: ${messageOf(failure)}`, { cause: withoutRows(failure) });
}

function codeOf(error: Error): StoreErrorCode {
  const { code, severity }: Partial<ServerError> = error;
  // The server always sends both fields, so without them the connection has failed.
  if (typeof severity !== 'string' || typeof code !== 'string') return 'io';
  return codes.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'refused';
}

/**
 * Returns the message of an error. The error of a host with several addresses has no message of its own, only the
 * errors of all addresses.
 */
function messageOf(error: Error): string {
  if (!(error instanceof AggregateError) || error.message !== '') return error.message;
  return error.errors.map((each: unknown) => (each instanceof Error ? each.message : String(each))).join('; ');
}

/** Removes the fields in which the server quotes the failed row: the row has users' data, and must not be logged. */
function withoutRows(error: Error): Error {
  for (const field of ['detail', 'where', 'internalQuery']) Reflect.deleteProperty(error, field);
  return error;
}
