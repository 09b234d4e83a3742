import {
  ApiError,
  leaderHeader,
  parseLeaderEpoch,
  parsePreconditions,
  preconditionsHeader,
} from '@homeostat/controller-runtime/api';
import type { LeaderEpoch, Preconditions } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { quote } from './query.ts';

type WithHeaders = Pick<Context, 'headers'>;

/**
 * Returns the leader for which a request writes; undefined without the header. Throws ApiError BadRequest for a header
 * that cannot be parsed.
 */
export function readLeader(context: WithHeaders): LeaderEpoch | undefined {
  const form = '<namespace>/<name>/<uid>/<transitions> of a Lease';
  return readHeader(context, leaderHeader, { title: 'Homeostat-Leader', parse: parseLeaderEpoch, form });
}

/**
 * Returns the preconditions of a PATCH; undefined without the header. Throws ApiError BadRequest for a header that
 * cannot be parsed.
 */
export function readPreconditionsHeader(context: WithHeaders): Preconditions | undefined {
  const form = 'uid=<uid>, resourceVersion=<revision>, or both with & between them';
  const title = 'Homeostat-Preconditions';
  return readHeader(context, preconditionsHeader, { title, parse: parsePreconditions, form });
}

interface HeaderForm<T> {
  /** The header's name, as error messages print it. */
  readonly title: string;
  /** Parses a value of the header; returns undefined when the value is malformed. */
  readonly parse: (text: string) => T | undefined;
  /** The form of the header's values: the text after "must be" in messages. */
  readonly form: string;
}

function readHeader<T>({ headers }: WithHeaders, name: string, { title, parse, form }: HeaderForm<T>): T | undefined {
  const header = headers[name];
  if (header === undefined) return undefined;
  const text = String(header);
  const value = parse(text);
  if (value !== undefined) return value;
  throw new ApiError('BadRequest', `header ${title}: Invalid value: ${quote(text)}: must be ${form}`);
}
