import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Middleware } from 'koa';
import { isHealthPath } from './health.ts';
import { discardRest } from '../decode/read-body.ts';
import type { RefusalLog } from './refusal-log.ts';

const minTokenLength = 16;

/** The header that carries it has to fit into the 16 KiB that all headers have. */
const maxTokenLength = 1024;

/** What is wrong with a token: 16 to 1,024 printable ASCII characters, no space. Never repeats it. */
export function checkToken(token: string): readonly string[] {
  const isFit = token.length >= minTokenLength && token.length <= maxTokenLength && /^[\x21-\x7e]+$/.test(token);
  if (isFit) return [];
  return [`must be ${minTokenLength} to ${maxTokenLength} printable ASCII characters, without spaces`];
}

/**
 * Lets only those pass who send the token (RFC 6750); health is open to all. Everything else is the same 401, whatever
 * the path, the method or the body, of which nothing is kept.
 */
export function bearerToken(token: string, refusals: RefusalLog): Middleware {
  const isExpected = tokenCheck(token);
  return function authenticate(context, next): Promise<void> {
    if (isHealthPath(context.path)) return next();
    const sent = /^bearer +(\S+) *$/i.exec(context.get('Authorization'))?.[1];
    if (sent !== undefined && isExpected(sent)) return next();
    discardRest(context.req);
    const kind = context.get('Authorization') === '' ? 'no' : 'wrong';
    refusals.note(context, `a request with ${kind} credentials was refused`);
    throw new ApiError('Unauthorized', 'Unauthorized');
  };
}

/** Whether what is sent is the token. */
export function tokenCheck(token: string): (sent: string) => boolean {
  const expected = digest(token);
  // Digests have one length, so that how long the comparison takes says nothing of the token, its length included.
  return (sent) => timingSafeEqual(digest(sent), expected);
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
