import { ApiError } from '@homeostat/controller-runtime/api';
import type { CauseReason } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { invalidOptions } from '../../registry/object/resource-errors.ts';

/** The parameters of a query, as koa parses them: the values of a repeated parameter become an array. */
export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns the query parameters of a request. Keeps them in `context.state`, because koa looks them up by the whole
 * query string at each read of `context.query`.
 */
export function queryOf(context: Context): QueryParameters {
  const { state } = context;
  state.query ??= context.query;
  return state.query;
}

/** Returns the first value of a parameter; undefined when it is absent or empty. */
export function firstOf(query: QueryParameters, name: string): string | undefined {
  const value = query[name];
  const first = typeof value === 'object' ? value[0] : value;
  return first === '' ? undefined : first;
}

/** Returns all values of a parameter that may be repeated. */
export function allOf(query: QueryParameters, name: string): readonly string[] {
  const value = query[name];
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

/**
 * Returns a parameter that is a whole number of at least `least`; undefined when it is absent or empty. For any other
 * value, throws a 400 that names the parameter.
 */
export function integerOf(query: QueryParameters, name: string, least: number): number | undefined {
  const text = firstOf(query, name);
  if (text === undefined) return undefined;
  // A number has at most 15 digits, because no list needs more, and JavaScript represents such numbers exactly.
  if (!/^\d{1,15}$/.test(text) || Number(text) < least) {
    const message = `${name}: Invalid value: ${quote(text)}: must be a number of 1 to 15 digits, at least ${least}`;
    throw new ApiError('BadRequest', message);
  }
  return Number(text);
}

/**
 * Returns a parameter that is `true`, `false`, `1` or `0`; undefined when it is absent or empty. Throws a 422 for any
 * other value.
 */
export function booleanOf(query: QueryParameters, name: string, options: string): boolean | undefined {
  const text = firstOf(query, name)?.toLowerCase();
  if (text === undefined) return undefined;
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw refuse(options, name, {
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${quote(text)}: must be true or false`,
  });
}

/**
 * Returns a parameter that is one of the supported values; undefined when it is absent or empty. Throws a 422 for any
 * other value.
 */
export function choiceOf<T extends string>(
  query: QueryParameters,
  choice: { name: string; supported: readonly T[]; options: string },
): T | undefined {
  const { name, supported, options } = choice;
  const text = firstOf(query, name);
  if (text === undefined) return undefined;
  const found = supported.find((candidate) => candidate === text);
  if (found !== undefined) return found;
  const list = supported.map((value) => `"${value}"`).join(', ');
  throw refuse(options, name, {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${quote(text)}: supported values: ${list}`,
  });
}

/** Returns the 422 for a wrong value of one of Kubernetes' parameters (`ListOptions.meta.k8s.io "" is invalid: …`). */
export function refuse(options: string, field: string, cause: { reason: CauseReason; message: string }): ApiError {
  return invalidOptions(options, { ...cause, field });
}

/** Returns a client's value, quoted and shortened for an error message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

/**
 * Throws a 400 for a query that is not percent-encoded UTF-8. A lenient parser would keep `%zz` as text. A mistyped
 * `fieldSelector=name!=%zz` would then select every object, even in a DELETE.
 */
export function checkQueryEncoding({ querystring }: Pick<Context, 'querystring'>): void {
  if (querystring.includes('%') && !isDecodable(querystring)) throw malformed(querystring);
}

function malformed(querystring: string): ApiError {
  const pair = querystring.split('&').find((each) => !isDecodable(each)) ?? querystring;
  const message = `the query parameter ${quote(pair)} is not valid percent-encoded UTF-8; write "%" as "%25"`;
  return new ApiError('BadRequest', message);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
