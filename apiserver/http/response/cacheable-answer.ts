import type { Context } from 'koa';
import { refuseMethod } from '../request/path-errors.ts';

/** What a client may keep. */
export interface CacheableAnswer {
  readonly bytes: Buffer;
  readonly type: string;
  /** Tells versions apart; without its quotes. */
  readonly tag: string;
  /** Default: keep it, and ask each time whether it is still the same. */
  readonly cacheControl?: string;
}

/** Answers a read; 304 when the client has the very same (If-None-Match). */
export function sendCacheable(context: Context, answer: CacheableAnswer): void {
  if (isFresh(context, answer)) return;
  context.set('Content-Type', answer.type);
  context.body = answer.bytes;
}

/** Whether the client has the very same, which is answered then: 304. */
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

/** 405 for whatever is not GET or HEAD. */
export function requireRead(context: Context): void {
  if (context.method !== 'GET' && context.method !== 'HEAD') refuseMethod(context, ['GET', 'HEAD']);
}
