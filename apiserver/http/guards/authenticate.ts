import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import { discardRest } from '../../decode/read-body.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import { isOpenPath } from '../pages/health.ts';
import { isPageRequest, localPath, sendLoginPage } from '../pages/send-login-page.ts';
import { setCaller } from '../request/caller.ts';
import type { RefusalLog } from '../request/refusal-log.ts';

/**
 * Finds the user of each request; health checks need none. A request without a user gets the same 401, whatever its
 * path, method or body, and the server keeps nothing of it.
 */
export function authenticate(authenticator: Authenticator, refusals: RefusalLog): Middleware {
  return function findUser(context, next): Promise<void> {
    if (isOpenPath(context.path)) return next();
    const found = authenticator.ofRequest(context.req);
    if (!(found instanceof Promise)) return goOn(context, found, next);
    return found.then((user) => goOn(context, user, next));
  };

  function goOn(context: Context, user: UserInfo | undefined, next: () => Promise<void>): Promise<void> {
    if (user === undefined) return refuse(context);
    setCaller(context, user);
    return next();
  }

  /** A browser gets the login page. */
  async function refuse(context: Context): Promise<void> {
    discardRest(context.req);
    const kind = context.get('Authorization') === '' ? 'no' : 'wrong';
    refusals.note(context, `a request with ${kind} credentials was refused`);
    if (!isPageRequest(context)) throw new ApiError('Unauthorized', 'Unauthorized');
    context.set('WWW-Authenticate', 'Bearer');
    sendLoginPage(context, 401, { next: localPath(context.url) });
  }
}
