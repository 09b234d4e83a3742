import type { Context } from 'koa';
import { refuseMethod } from '../request/path-errors.ts';

/** A response that clients may cache. */
export interface CacheableAnswer {
  readonly bytes: Buffer;
  readonly type: string;
  /** The ETag of the response, without quotes. */
  readonly tag: string;
  /** The value of Cache-Control. Default: clients may cache the response, but have to revalidate it at each use. */
  readonly cacheControl?: string;
}

/** Sends the response to a read; a 304 if the client has the current version (If-None-Match). */
export function sendCacheable(context: Context, answer: CacheableAnswer): void {
  if (isFresh(context, answer)) return;
  context.set('Content-Type', answer.type);
  context.body = answer.bytes;
}

/** Sets ETag and Cache-Control. Returns true when the client has the current version; the response is then a 304. */
export function isFresh(
  context: Context,
  { tag, cacheControl = 'no-cache, private' }: Omit<CacheableAnswer, 'bytes'>,
): boolean {
  context.status = 200;
  context.set('ETag', `"${tag}"`);
  context.set('Cache-Control', cacheControl);
  if (!context.fresh) return false;
  context.status = 304;
  return true;
}

/** Throws a 405 for any method but GET and HEAD. */
export function requireRead(context: Context): void {
  if (context.method !== 'GET' && context.method !== 'HEAD') refuseMethod(context, ['GET', 'HEAD']);
}
