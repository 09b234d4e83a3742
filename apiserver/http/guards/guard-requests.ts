import { ApiError, isApiError, parseFieldSelector } from '@homeostat/controller-runtime/api';
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { discardRest } from '../../decode/read-body.ts';
import type { Attributes, ResourceAttributes } from '../../authorization/attributes.ts';
import type { EndpointTable } from '../../endpoints/serving/endpoint-table.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import { anonymous } from '../../identity/user-info.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import { isOpenPath, withoutTrailingSlash } from '../pages/health.ts';
import type { LoginPageState } from '../pages/login-page.ts';
import { isPageRequest, localPath, sendLoginPage } from '../pages/send-login-page.ts';
import { allOf, checkQueryEncoding } from '../request/query.ts';
import { askedOf, resourcePathOf } from '../request/resource-path.ts';
import type { ResourcePath } from '../request/resource-path.ts';
import type { RequestAuditor } from './audit-requests.ts';
import { askForSeats } from './fair-share.ts';
import type { FairShareParts, Seats } from './fair-share.ts';
import { impersonate, impersonationPrefix } from './impersonation.ts';
import { OriginGuard } from './origin-guard.ts';
import type { OriginGuardParts } from './origin-guard.ts';

interface AttributesParts {
  readonly endpoints: Pick<EndpointTable, 'permissionsFor' | 'isEmpty'>;
  /** True for the path of a kind that is served or being indexed. Such a path takes precedence over endpoints. */
  readonly isKind: (path: ResourcePath) => boolean;
}

export interface GuardParts extends OriginGuardParts, FairShareParts, AttributesParts {
  readonly authenticator: Authenticator;
  readonly permissions: RequestPermissions;
  /** The identity providers that the login page offers. */
  readonly providers: () => LoginPageState['providers'];
  /** The auditor of requests. If it is absent, requests are not audited. */
  readonly auditor: RequestAuditor | undefined;
}

/**
 * Returns the handler that makes the checks before a request is handled, in this order: host and origin, the user, a
 * seat, impersonation, the audit entry of the arrival, permission, the encoding of the query. Health checks and the
 * login need neither a user nor a permission.
 */
export function guardRequests(
  parts: GuardParts,
  handle: (context: Context) => Promise<void> | void,
): (context: Context) => Promise<void> {
  const { authenticator, permissions, auditor } = parts;
  const origins = new OriginGuard(parts);

  return function guardRequest(context): Promise<void> {
    origins.check(context);
    // Open paths need no credential. None of them begins with `/api`, as the paths of objects do, so most requests skip
    // the slower check.
    if (!context.path.startsWith('/api') && isOpenPath(context.path)) return passOpen(context);
    const user = authenticator.ofRequest(context.req);
    if (user === anonymous) return passStranger(context);
    return user instanceof Promise ? user.then((found) => pass(context, found)) : pass(context, user);
  };

  /** Handles a request without a credential. A browser that opens a forbidden page gets the login page. */
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
    context.state.caller = user;
    let seats: Seats | undefined;
    let isAllowed = false;
    try {
      const asked = askForSeats(context, parts);
      seats = asked instanceof Promise ? await asked : asked;
      // Most of these checks need not wait. An await costs as much as a check, so a check is awaited only if it returns
      // a promise.
      if (asksForOtherUser(context.req)) await impersonate(context, permissions);
      const recorded = auditor?.recordArrival(context);
      if (recorded !== undefined) await recorded;
      const reached = permissions.reach(context);
      if (reached !== undefined) await reached;
      requirePermissions(context, parts);
      isAllowed = true;
      if (context.querystring !== '') checkQueryEncoding(context);
      await handle(context);
    } finally {
      if (!isAllowed) discardRest(context.req);
      if (seats !== undefined) seats.level.leave(seats.flow, seats.cost);
    }
  }
}

function asksForOtherUser({ rawHeaders }: IncomingMessage): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    // The first letter is compared first, because few headers other than those for impersonation begin with "i".
    const isCandidate = (name.charCodeAt(0) | 0x20) === 0x69;
    if (isCandidate && name.toLowerCase().startsWith(impersonationPrefix)) return true;
  }
  return false;
}

/**
 * Refuses a request without a valid credential. The response is a 401 that does not show whether the path exists: the
 * login page for a browser that opens a page, and a Status for all other clients.
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

/**
 * Requires all permissions that a request needs. The attributes of a request are like Kubernetes' RequestInfo. A path
 * under /api or /apis counts as the path of an object if it has the form of such a path, even if its kind is unknown.
 * This does not apply to paths of plugins' endpoints.
 * @throws ApiError Forbidden
 */
function requirePermissions(context: Context, { endpoints, isKind, permissions }: GuardParts): void {
  const asked = askedOf(context);
  const path = resourcePathOf(context);
  const needed = endpoints.isEmpty ? undefined : endpoints.permissionsFor(context.method, context.path);
  if (asked.isResource && path !== undefined && (needed === undefined || isKind(path)))
    return permissions.require(context, withName(context, asked));
  for (const each of needed ?? [{ path: context.path }])
    permissions.require(context, 'path' in each ? pathAttributes(context, each.path) : { isResource: true, ...each });
}

function pathAttributes({ method }: Context, path: string): Attributes {
  return { isResource: false, verb: method.toLowerCase(), path: withoutTrailingSlash(path) };
}

/**
 * Returns the attributes for which a request needs permission. Adds the name that a field selector requires. For a
 * Namespace, its name is also the namespace, as in Kubernetes. Removes the subresource from a get of `/history`,
 * `/explanation` or `/dependents`: a user who may get the object may get these, too.
 */
function withName(context: Context, asked: ResourceAttributes): ResourceAttributes {
  const { verb, resource, name } = asked;
  if (name !== undefined) {
    const isDescription = verb === 'get' && isOfObject(asked);
    const subresource = isDescription ? undefined : asked.subresource;
    // The name of a Namespace counts as its namespace, so that a role in the namespace can grant permissions on the
    // Namespace itself.
    if (resource === 'namespaces') return { ...asked, subresource, namespace: asked.namespace ?? name };
    return isDescription ? { ...asked, subresource } : asked;
  }
  const selected = verb === 'list' || verb === 'watch' ? selectedName(context) : undefined;
  return selected === undefined ? asked : { ...asked, name: selected };
}

/** True for a subresource that only describes the object. A user who may get the object may read such a subresource. */
function isOfObject({ subresource }: ResourceAttributes): boolean {
  return subresource === 'history' || subresource === 'explanation' || subresource === 'dependents';
}

/**
 * Returns the name that a field selector requires. Returns undefined for a selector that cannot be parsed, which is
 * refused later.
 */
function selectedName({ query, querystring }: Context): string | undefined {
  if (!querystring.includes('fieldSelector')) return undefined;
  try {
    const terms = parseFieldSelector(allOf(query, 'fieldSelector'));
    const named = terms.find(
      ({ key, operator, values }) => key === 'metadata.name' && operator === 'in' && values.length === 1,
    );
    return named?.values[0];
  } catch (error) {
    if (!isApiError(error)) throw error;
    return undefined;
  }
}
