import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { booleanOf, queryOf } from '../request/query.ts';

/**
 * Longer responses stay as they are: an indented line can be sixty times as long as its value, and making them must not hold up
 * other requests.
 */
const mostBytes = 128 * 1024;

/** Programs by which people read responses themselves. */
const readers = /^(?:curl|Wget)\//;

/**
 * Rewrites the response to a GET of objects for people: indented for `pretty=true`, and without `metadata.managedFields` for
 * `managedFields=false`. Both are the default for curl, Wget, and pages that a browser opens. Only JSON of up to 128 KiB.
 */
export function makeReadable(context: Context): void {
  const { body, method, state } = context;
  if (method !== 'GET' || state.servedPath === undefined || !(body instanceof Buffer)) return;
  const { headers } = context.req;
  const isReader = readers.test(headers['user-agent'] ?? '') || (headers.accept ?? '').includes('text/html');
  if (!isReader && !/(?:^|&)(?:pretty|managedFields)=/.test(context.querystring)) return;
  const query = queryOf(context);
  const isPretty = booleanOf(query, 'pretty', 'GetOptions') ?? isReader;
  const hasManagedFields = booleanOf(query, 'managedFields', 'GetOptions') ?? !isReader;
  if (body.length > mostBytes || context.res.getHeader('Content-Type') !== 'application/json') return;
  if (!isPretty && hasManagedFields) return;
  const value: unknown = JSON.parse(body.toString('utf8'));
  const shown = hasManagedFields || !isJsonObject(value) ? value : withoutManagedFields(value);
  context.body = Buffer.from(isPretty ? `${JSON.stringify(shown, undefined, 2)}\n` : JSON.stringify(shown));
}

function withoutManagedFields(value: JsonObject): JsonObject {
  const { items } = value;
  if (Array.isArray(items))
    return { ...value, items: items.map((item: unknown) => (isJsonObject(item) ? bare(item) : item)) };
  return bare(value);
}

function bare(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata) || metadata['managedFields'] === undefined) return object;
  const { managedFields: _left, ...rest } = metadata;
  return { ...object, metadata: rest };
}
