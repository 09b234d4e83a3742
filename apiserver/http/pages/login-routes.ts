import { createHash } from 'node:crypto';
import { ApiError, isJsonObject } from '@homeostat/controller-runtime/api';
import type { Logger } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import type { BodyMemory } from '../../decode/body-memory.ts';
import { discardRest, readBody, readContentType } from '../../decode/read-body.ts';
import { TooManyLogins } from '../../people/login-throttle.ts';
import type { People } from '../../people/people.ts';
import { endedSessionCookie, readSessionCookie, sessionCookie } from '../../people/session-cookie.ts';
import { addressBlock } from '../request/address-block.ts';
import { auditNotesOf, setCaller } from '../request/request-state.ts';
import { unsupported } from '../request/object-body.ts';
import { refuseMethod } from '../request/path-errors.ts';
import type { RefusalLog } from '../request/refusal-log.ts';
import type { TrustedProxies } from '../request/trusted-proxies.ts';
import { sendCacheable } from '../response/cacheable-answer.ts';
import { withoutTrailingSlash } from './health.ts';
import { answerIssuerLogin } from './issuer-login-routes.ts';
import { loginPolicy, loginScript, loginStyle } from './login-page.ts';
import { localPath, rootOf, sendLoginPage } from './send-login-page.ts';

export interface LoginParts {
  readonly people: People;
  readonly proxies: TrustedProxies;
  readonly refusals: RefusalLog;
  readonly bodies: { readonly memory: BodyMemory };
  readonly logger: Logger;
}

/** The maximum number of bytes of a login's body. It is small, because unknown clients send these bodies. */
const maxLoginBytes = 8192;

const formType = 'application/x-www-form-urlencoded';

const wrongs = { password: 'user or password is wrong', token: 'the token is not valid' } as const;

const files: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  '/login/login.css': { type: 'text/css; charset=utf-8', text: loginStyle },
  '/login/login.js': { type: 'text/javascript; charset=utf-8', text: loginScript },
};

/**
 * Serves `/login` and `/logout`, which need no credential. A POST of `{user, password}` or `{token}` begins a session,
 * and sets its cookie; the response is a 303 for a form, and a 204 for JSON. If the credential is wrong, the response
 * is the login page for a form, and a Status for JSON.
 */
export function loginRoutes(parts: LoginParts): Middleware {
  return async function answerLogin(context, next) {
    const path = withoutTrailingSlash(context.path);
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    if (file !== undefined) return sendFile(context, file);
    if (path === '/login') return answerLoginPath(context, parts);
    if (path === '/logout') return logOut(context, parts);
    const answer = answerIssuerLogin(context, parts);
    if (answer !== undefined) return answer;
    await next();
    return undefined;
  };
}

function sendFile(context: Context, { type, text }: { readonly type: string; readonly text: string }): void {
  requireReadOr(context, []);
  const bytes = Buffer.from(text);
  context.set('Content-Security-Policy', loginPolicy);
  sendCacheable(context, { bytes, type, tag: createHash('sha256').update(bytes).digest('hex') });
}

async function answerLoginPath(context: Context, parts: LoginParts): Promise<void> {
  if (context.method === 'POST') {
    await logIn(context, parts);
    return;
  }
  requireReadOr(context, ['POST']);
  const { next } = context.query;
  const providers = parts.people.issuers.offers();
  sendLoginPage(context, 200, { next: localPath(typeof next === 'string' ? next : ''), providers });
}

async function logIn(context: Context, parts: LoginParts): Promise<void> {
  const { people, proxies, refusals } = parts;
  const providers = people.issuers.offers();
  const isForm = readContentType(context.headers['content-type']) === formType;
  const login = await readLogin(context, parts, isForm);
  const { next } = login;
  const notes = auditNotesOf(context);
  if (notes !== undefined && 'user' in login) notes.claimedUser = { username: login.user, groups: [] };
  try {
    const address = addressBlock(proxies.addressOf(context));
    const secret = await ('user' in login
      ? people.logIn({ ...login, address })
      : people.tokens.logIn({ ...login, address }));
    const wrong = wrongs['user' in login ? 'password' : 'token'];
    if (secret === undefined) refusals.note(context, 'a login was refused');
    else await noteUser(context, people, secret);
    if (secret !== undefined)
      succeed(context, { secret, isForm, next, isSecure: proxies.schemeOf(context) === 'https' });
    else if (isForm)
      sendLoginPage(context, 401, { next, providers, problem: `${wrong.slice(0, 1).toUpperCase()}${wrong.slice(1)}.` });
    else throw new ApiError('Unauthorized', wrong);
  } catch (error) {
    if (!(error instanceof TooManyLogins)) throw error;
    const { message, retryAfterSeconds } = error;
    if (!isForm) throw new ApiError('TooManyRequests', message, { retryAfterSeconds });
    context.set('Retry-After', String(retryAfterSeconds));
    const problem = `Too many logins failed. Try again in ${retryAfterSeconds} s.`;
    sendLoginPage(context, 429, { next, providers, problem });
  }
}

/** Sets the user of a session as the user of the request, for the audit log. */
async function noteUser(context: Context, people: People, secret: string): Promise<void> {
  const user = await people.ofSession(secret);
  if (user !== undefined) setCaller(context, user);
}

interface Success {
  readonly secret: string;
  readonly isForm: boolean;
  readonly next: string;
  readonly isSecure: boolean;
}

function succeed(context: Context, { secret, isForm, next, isSecure }: Success): void {
  context.set('Set-Cookie', sessionCookie(secret, isSecure));
  context.set('Cache-Control', 'no-store');
  leadOn(context, isForm ? next : undefined);
}

async function logOut(context: Context, { people, proxies }: LoginParts): Promise<void> {
  if (context.method !== 'POST') refuseMethod(context, ['POST']);
  const isForm = readContentType(context.headers['content-type']) === formType;
  discardRest(context.req);
  const isSecure = proxies.schemeOf(context) === 'https';
  const secret = readSessionCookie(context.get('Cookie'), isSecure);
  if (secret !== undefined) {
    await noteUser(context, people, secret);
    await people.logOut(secret);
  }
  context.set('Set-Cookie', endedSessionCookie(isSecure));
  context.set('Cache-Control', 'no-store');
  leadOn(context, isForm ? '/login' : undefined);
}

/** Sends a 303, after which the browser gets the page at `next`; without `next`, sends a 204. */
function leadOn(context: Context, next: string | undefined): void {
  if (next === undefined) {
    context.status = 204;
    return;
  }
  context.status = 303;
  // The address is relative, because a proxy may add a prefix to the path.
  context.set('Location', rootOf(context) + next.slice(1));
  context.body = '';
}

/** The body of a login: the path that the person wants, and the credential. */
type ReadLogin = { readonly next: string } & (
  { readonly user: string; readonly password: string } | { readonly token: string }
);

async function readLogin(context: Context, { bodies }: LoginParts, isForm: boolean): Promise<ReadLogin> {
  checkSize(context);
  if (!isForm && readContentType(context.headers['content-type']) !== 'application/json')
    throw unsupported(['application/json', formType]);
  const text = (await readBody(context, bodies.memory)).toString('utf8');
  const fields = isForm ? Object.fromEntries(new URLSearchParams(text)) : parseJson(text);
  const { user, password, token, next = '', ...unknown } = fields;
  const [field] = Object.keys(unknown);
  if (field !== undefined)
    throw new ApiError('BadRequest', 'the login has an unknown field: send user and password, or token');
  if (typeof next !== 'string') throw new ApiError('BadRequest', 'next: must be a text');
  if (typeof token === 'string' && user === undefined && password === undefined)
    return { token: token.trim(), next: localPath(next) };
  if (typeof user !== 'string' || typeof password !== 'string' || token !== undefined)
    throw new ApiError('BadRequest', 'the login must have user and password, or token, as texts');
  return { user: user.trim().toLowerCase().slice(0, 253), password, next: localPath(next) };
}

/** Refuses a body that is too large or compressed, or has no Content-Length, before the body is read. */
function checkSize(context: Context): void {
  const length = Number(context.get('Content-Length') || 'NaN');
  if (length <= maxLoginBytes && context.get('Content-Encoding') === '') return;
  discardRest(context.req);
  const message = `a login must have a Content-Length of at most ${maxLoginBytes}, and no Content-Encoding`;
  throw new ApiError('RequestEntityTooLarge', message);
}

function parseJson(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // The error of JSON.parse is left out, because it quotes the text, which contains the password.
  }
  throw new ApiError('BadRequest', 'the login must be a JSON object with user and password, or token');
}

function requireReadOr(context: Context, others: readonly string[]): void {
  if (context.method !== 'GET' && context.method !== 'HEAD') refuseMethod(context, ['GET', 'HEAD', ...others]);
}
