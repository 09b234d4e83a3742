import type { Context } from 'koa';
import { refuseMethod } from '../request/path-errors.ts';

/** A response that clients may cache. */
export interface CacheableAnswer {
  readonly bytes: Buffer;
  readonly type: string;
  /** Identifies the version; without quotes. */
  readonly tag: string;
  /** Default: clients may cache the response, and have to revalidate it at each use. */
  readonly cacheControl?: string;
}

/** Responds to a read, with 304 if the client has the current version (If-None-Match). */
export function sendCacheable(context: Context, answer: CacheableAnswer): void {
  if (isFresh(context, answer)) return;
  context.set('Content-Type', answer.type);
  context.body = answer.bytes;
}

/** True when the client has the current version; the response is then a 304. */
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

/** 405 for any method but GET and HEAD. */
export function requireRead(context: Context): void {
  if (context.method !== 'GET' && context.method !== 'HEAD') refuseMethod(context, ['GET', 'HEAD']);
}
