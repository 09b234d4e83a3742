import { ApiError } from '@homeostat/controller-runtime/api';
import type { CauseReason } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { invalidOptions } from '../../registry/object/resource-errors.ts';

/** Parameters as koa parses them: a repeated one becomes an array. */
export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the parameters of a request, parsed once: koa looks them up by the whole query each time. */
export function queryOf(context: Context): QueryParameters {
  const { state } = context;
  state.query ??= context.query;
  return state.query;
}

/** The first value; undefined when absent or empty. */
export function firstOf(query: QueryParameters, name: string): string | undefined {
  const value = query[name];
  const first = typeof value === 'object' ? value[0] : value;
  return first === '' ? undefined : first;
}

/** Every value of a parameter that may be repeated. */
export function allOf(query: QueryParameters, name: string): readonly string[] {
  const value = query[name];
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

/** A whole number of at least `least`; undefined when absent. Anything else is a 400 that names the parameter. */
export function integerOf(query: QueryParameters, name: string, least: number): number | undefined {
  const text = firstOf(query, name);
  if (text === undefined) return undefined;
  // At most 15 digits: no list needs more, and JavaScript holds such numbers exactly.
  if (!/^\d{1,15}$/.test(text) || Number(text) < least) {
    const message = `${name}: Invalid value: ${quote(text)}: must be a whole number from ${least}, of at most 15 digits`;
    throw new ApiError('BadRequest', message);
  }
  return Number(text);
}

/** `true`, `false`, `1`, `0` (422 otherwise); undefined when absent. */
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

/** One of the supported values (422 otherwise); undefined when absent. */
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

/** The 422 of Kubernetes' own parameters (`ListOptions.meta.k8s.io "" is invalid: …`). */
export function refuse(options: string, field: string, cause: { reason: CauseReason; message: string }): ApiError {
  return invalidOptions(options, { ...cause, field });
}

/** A client's value, quoted and shortened for an error message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

/**
 * Refuses a query that is not percent-encoded UTF-8 (400). A lenient parser keeps `%zz` as text, and a mistyped
 * `fieldSelector=name!=%zz` would then select every object, on DELETE as well.
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
