import type { Logger } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { LoginFailure } from '../../identity/login-provider.ts';
import type { LoginFailureReason } from '../../identity/login-provider.ts';
import { readLoginCookie, loginCookie } from '../../people/login-cookie.ts';
import { TooManyLogins } from '../../people/login-throttle.ts';
import type { People } from '../../people/people.ts';
import { sessionCookie } from '../../people/session-cookie.ts';
import { addressBlock } from '../request/address-block.ts';
import { setCaller } from '../request/request-state.ts';
import { pathNotFound, refuseMethod } from '../request/path-errors.ts';
import type { RefusalLog } from '../request/refusal-log.ts';
import type { TrustedProxies } from '../request/trusted-proxies.ts';
import { withoutTrailingSlash } from './health.ts';
import { issuerPath } from './issuer-path.ts';
import type { IssuerPath } from './issuer-path.ts';
import { localPath, sendContinuePage, sendLoginPage } from './send-login-page.ts';

export interface IssuerLoginRouteParts {
  readonly people: People;
  readonly proxies: TrustedProxies;
  readonly refusals: RefusalLog;
  readonly logger: Logger;
}

/** The text that the login page shows for each reason of a failed login. */
const problems: Readonly<Record<LoginFailureReason, string>> = {
  refused: 'The provider refused the login.',
  invalid: 'The login did not succeed: it took too long, was used before, or began in another browser. Try again.',
  'no user': 'This server does not accept the account that the provider sent. The log of the server has the reason.',
  unavailable: 'The provider does not respond correctly. Try again later.',
};

/**
 * Handles the login at an identity provider. `/login/oidc/<name>` redirects a browser to the provider, which redirects
 * it back to `/login/oidc/<name>/callback`. Neither path needs a credential. Returns undefined for all other paths.
 */
export function answerIssuerLogin(context: Context, parts: IssuerLoginRouteParts): Promise<void> | undefined {
  const path = issuerPath(withoutTrailingSlash(context.path));
  if (path === undefined) return undefined;
  if (context.method !== 'GET') refuseMethod(context, ['GET']);
  if (!parts.people.issuers.has(path.provider)) throw pathNotFound();
  return path.isCallback ? comeBack(context, parts, path) : begin(context, parts, path);
}

async function begin(context: Context, parts: IssuerLoginRouteParts, { provider }: IssuerPath): Promise<void> {
  const { people, proxies } = parts;
  const next = nextOf(context);
  const scheme = proxies.schemeOf(context);
  const redirectUri = `${scheme}://${context.get('Host').toLowerCase()}/login/oidc/${provider}/callback`;
  try {
    const { location, sealed } = await people.issuers.begin({ provider, redirectUri, next });
    context.set('Set-Cookie', loginCookie(sealed, scheme === 'https'));
    context.set('Cache-Control', 'no-store');
    context.set('Location', location);
    context.status = 303;
    context.body = '';
  } catch (error) {
    refuse(context, parts, { error, next });
  }
}

async function comeBack(context: Context, parts: IssuerLoginRouteParts, { provider }: IssuerPath): Promise<void> {
  const { people, proxies } = parts;
  const isSecure = proxies.schemeOf(context) === 'https';
  const sealed = readLoginCookie(context.get('Cookie'), isSecure);
  const address = addressBlock(proxies.addressOf(context));
  const { querystring } = context;
  // This request ends the login, whether it succeeds or fails, so the login's cookie is deleted.
  if (sealed !== undefined) context.set('Set-Cookie', loginCookie('', isSecure));
  try {
    const { secret, next } = await people.issuers.finish({ provider, querystring, sealed, address });
    const user = await people.ofSession(secret);
    if (user !== undefined) setCaller(context, user);
    context.append('Set-Cookie', sessionCookie(secret, isSecure));
    sendContinuePage(context, next);
  } catch (error) {
    refuse(context, parts, { error, next: '/docs' });
  }
}

function nextOf({ query: { next } }: Context): string {
  return localPath(typeof next === 'string' ? next : '');
}

/**
 * Shows the login page with the reason for the refusal. The reason is a text of this server. It repeats no text that
 * the provider or the browser sent.
 */
function refuse(
  context: Context,
  { refusals, logger, people }: IssuerLoginRouteParts,
  { error, next }: { readonly error: unknown; readonly next: string },
): void {
  const page = { next, providers: people.issuers.offers() };
  if (error instanceof TooManyLogins) {
    const { retryAfterSeconds } = error;
    context.set('Retry-After', String(retryAfterSeconds));
    const problem = `Too many logins failed. Try again in ${retryAfterSeconds} s.`;
    sendLoginPage(context, 429, { ...page, problem });
    return;
  }
  if (!(error instanceof LoginFailure)) throw error;
  const { reason, message } = error;
  if (reason === 'unavailable') logger.error({ problem: message }, 'a login at an issuer failed');
  else refusals.note(context, `a login at an issuer was refused: ${message}`);
  sendLoginPage(context, reason === 'unavailable' ? 503 : 401, { ...page, problem: problems[reason] });
}
