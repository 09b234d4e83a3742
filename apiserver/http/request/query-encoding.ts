import { ApiError } from '@homeostat/controller-runtime/api';
import type { Middleware } from 'koa';
import { quote } from './query.ts';

/**
 * Refuses a query that is not percent-encoded UTF-8 (400). A lenient parser keeps `%zz` as text, and a mistyped
 * `fieldSelector=name!=%zz` would then select every object, on DELETE as well.
 */
export function queryEncoding(): Middleware {
  return function checkQueryEncoding(context, next) {
    const { querystring } = context;
    if (querystring.includes('%') && !isDecodable(querystring)) throw malformed(querystring);
    return next();
  };
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
