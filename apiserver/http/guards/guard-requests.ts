import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { discardRest } from '../../decode/read-body.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import { anonymous } from '../../identity/user-info.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import { isOpenPath } from '../pages/health.ts';
import type { LoginPageState } from '../pages/login-page.ts';
import { isPageRequest, localPath, sendLoginPage } from '../pages/send-login-page.ts';
import { setCaller } from '../request/caller.ts';
import { checkQueryEncoding } from '../request/query.ts';
import type { RequestAuditor } from './audit-requests.ts';
import { askForSeats } from './fair-share.ts';
import type { FairShareParts, Seats } from './fair-share.ts';
import { impersonate } from './impersonation.ts';
import { OriginGuard } from './origin-guard.ts';
import type { OriginGuardParts } from './origin-guard.ts';
import { requestAttributes } from './request-attributes.ts';
import type { AttributesParts } from './request-attributes.ts';

export interface GuardParts extends OriginGuardParts, FairShareParts, AttributesParts {
  readonly authenticator: Authenticator;
  readonly permissions: RequestPermissions;
  /** The issuers that the login page offers. */
  readonly providers: () => LoginPageState['providers'];
  /** Absent: requests are not audited. */
  readonly auditor: RequestAuditor | undefined;
}

/**
 * The checks before a request is handled, in their order: host and origin, the user, a seat, impersonation, the audit entry of
 * the arrival, permission, the encoding of the query. Health checks and the login need neither user nor permission.
 */
export function guardRequests(
  parts: GuardParts,
  handle: (context: Context) => Promise<void> | void,
): (context: Context) => Promise<void> {
  const { authenticator, permissions, auditor } = parts;
  const origins = new OriginGuard(parts);

  return function guardRequest(context): Promise<void> {
    origins.check(context);
    // No path that is open to all begins like those of objects, which are most requests.
    if (!context.path.startsWith('/api') && isOpenPath(context.path)) return passOpen(context);
    const user = authenticator.ofRequest(context.req);
    if (user === anonymous) return passStranger(context);
    return user instanceof Promise ? user.then((found) => pass(context, found)) : pass(context, user);
  };

  /** A person who may not see a page without a credential can log in. */
  async function passStranger(context: Context): Promise<void> {
    try {
      await pass(context, anonymous);
    } catch (error) {
      const isForbidden = isApiError(error) && error.reason === 'Forbidden';
      if (!isForbidden || !isPageRequest(context)) throw error;
      askToLogIn(context, parts);
    }
  }

  async function passOpen(context: Context): Promise<void> {
    await auditor?.recordArrival(context);
    checkQueryEncoding(context);
    await handle(context);
  }

  async function pass(context: Context, user: UserInfo | undefined): Promise<void> {
    if (user === undefined) return refuseStranger(context, parts);
    setCaller(context, user);
    let seats: Seats | undefined;
    let isAllowed = false;
    try {
      const asked = askForSeats(context, parts);
      seats = asked instanceof Promise ? await asked : asked;
      // Most of these have nothing to wait for, and a turn of the microtasks costs as much as one of them.
      const identified = impersonate(context, permissions);
      if (identified !== undefined) await identified;
      const recorded = auditor?.recordArrival(context);
      if (recorded !== undefined) await recorded;
      const reached = permissions.reach(context);
      if (reached !== undefined) await reached;
      for (const attributes of requestAttributes(context, parts)) permissions.require(context, attributes);
      isAllowed = true;
      checkQueryEncoding(context);
      await handle(context);
    } finally {
      if (!isAllowed) discardRest(context.req);
      if (seats !== undefined) seats.level.leave(seats.flow, seats.cost);
    }
  }
}

/**
 * Refuses a request without a valid credential: always with the same 401, whatever its path, method or body; nothing of it is
 * kept. A browser gets the login page.
 */
async function refuseStranger(context: Context, { refusals, providers }: GuardParts): Promise<void> {
  discardRest(context.req);
  const kind = context.get('Authorization') === '' ? 'no' : 'wrong';
  refusals.note(context, `a request with ${kind} credentials was refused`);
  if (!isPageRequest(context)) throw new ApiError('Unauthorized', 'Unauthorized');
  askToLogIn(context, { providers });
}

function askToLogIn(context: Context, { providers }: Pick<GuardParts, 'providers'>): void {
  context.set('WWW-Authenticate', 'Bearer');
  sendLoginPage(context, 401, { next: localPath(context.url), providers: providers() });
}
