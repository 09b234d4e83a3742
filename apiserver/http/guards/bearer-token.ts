import { ApiError } from '@homeostat/controller-runtime/api';
import type { Middleware } from 'koa';
import { tokenCheck } from './check-token.ts';
import { isHealthPath } from '../pages/health.ts';
import { discardRest } from '../../decode/read-body.ts';
import type { RefusalLog } from '../request/refusal-log.ts';

/**
 * Accepts only requests with the token (RFC 6750); health checks need none. Every other request gets the same 401,
 * whatever its path, method or body, and nothing of it is kept.
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
