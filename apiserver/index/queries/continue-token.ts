import { createHash } from 'node:crypto';
import { ApiError, isJsonObject } from '@homeostat/controller-runtime/api';
import type { Query } from './query.ts';

/** The position at which a chunked list continues. */
export interface ContinuePosition {
  /** The revision of the first chunk. All later chunks contain the objects as they were at this revision. */
  readonly revision: number;
  /** The number of matches in the previous chunks. */
  readonly offset: number;
}

/** The scope in which a token is valid: one query in one epoch of the database. */
export interface ContinueScope {
  readonly query: Query;
  readonly epoch: string;
}

interface Token {
  readonly v: 1;
  readonly rv: number;
  readonly o: number;
  readonly e: string;
  readonly q: string;
}

// The maximum length of a token. The server's own tokens have about 150 characters.
const maxLength = 512;

const expiredMessage =
  'The provided continue parameter is too old to display a consistent list result. ' +
  'You can start a new list without the continue parameter.';

/** Returns a token for a position, in base64url, with at most 512 characters. */
export function formatContinueToken({ revision, offset }: ContinuePosition, scope: ContinueScope): string {
  const token: Token = { v: 1, rv: revision, o: offset, e: scope.epoch, q: fingerprint(scope.query) };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

/**
 * Parses a token. Throws ApiError BadRequest for a malformed token or a token of another query. Throws Expired for a
 * token of another epoch, because its revision may mean another state in this epoch.
 */
export function parseContinueToken(text: string, scope: ContinueScope): ContinuePosition {
  const token = decode(text);
  if (token.e !== scope.epoch) throw new ApiError('Expired', expiredMessage);
  if (token.q !== fingerprint(scope.query))
    throw notValid('the continue parameter comes from a list with other parameters');
  return { revision: token.rv, offset: token.o };
}

function decode(text: string): Token {
  if (text.length > maxLength) throw notValid(`the continue parameter is longer than ${maxLength} characters`);
  if (!/^[\w-]+$/.test(text)) throw notValid('the continue parameter is not base64url');
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch (error) {
    throw notValid('the decoded continue parameter is not JSON', error);
  }
  if (!isToken(value)) throw notValid('server does not recognize this encoded version');
  if (!isCount(value.rv) || value.rv === 0) throw notValid('incorrect encoded start resourceVersion');
  if (!isCount(value.o)) throw notValid('incorrect encoded offset');
  return value;
}

function isToken(value: unknown): value is Token {
  if (!isJsonObject(value)) return false;
  const { v, e, q } = value;
  return v === 1 && typeof e === 'string' && typeof q === 'string';
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function notValid(why: string, cause?: unknown): ApiError {
  return new ApiError('BadRequest', `continue key is not valid: ${why}`, { cause });
}

// A hash protects against mistakes of clients, not against forgery. A forged token gives access only to what the query
// itself selects.
function fingerprint(query: Query): string {
  return createHash('sha256').update(query.canonical).digest('base64url').slice(0, 16);
}
