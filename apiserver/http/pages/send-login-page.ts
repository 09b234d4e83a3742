import type { Context } from 'koa';
import { continuePage, loginPage, loginPolicy } from './login-page.ts';
import type { LoginPageState } from './login-page.ts';

/** The maximum length of a path to which a browser is sent after the login. */
const maxNextLength = 2000;

/** Responds with the login page. */
export function sendLoginPage(context: Context, status: number, state: Omit<LoginPageState, 'root'>): void {
  sendPage(context, status, loginPage({ ...state, root: rootOf(context) }));
}

/** Responds with the page that sends the browser to a path of this server. */
export function sendContinuePage(context: Context, next: string): void {
  sendPage(context, 200, continuePage({ next, root: rootOf(context) }));
}

/** Returns the relative path from the path of the request to the server's root, such as `../` for `/a/b`. */
export function rootOf({ path }: Context): string {
  return '../'.repeat(path.split('/').length - 2) || './';
}

function sendPage(context: Context, status: number, html: string): void {
  context.status = status;
  context.set('Content-Type', 'text/html; charset=utf-8');
  context.set('Cache-Control', 'no-store');
  context.set('Content-Security-Policy', loginPolicy);
  // The value is not `no-referrer`, because browsers would then send `Origin: null` with the form.
  context.set('Referrer-Policy', 'same-origin');
  context.body = Buffer.from(html);
}

/** True for a request whose response a browser shows as a page, unlike the request of a script. */
export function isPageRequest(context: Context): boolean {
  const { method } = context;
  if (method !== 'GET' && method !== 'HEAD') return false;
  const destination = context.get('Sec-Fetch-Dest');
  if (destination !== '' && destination !== 'document') return false;
  return context.get('Authorization') === '' && context.get('Accept').includes('text/html');
}

/**
 * Returns `next` in normal form if it is a path of this server; the path keeps its query and fragment. Returns `/docs`
 * if `next` is another value, such as the URL of another site, is a path of login or logout, or is longer than
 * {@link maxNextLength}.
 */
export function localPath(next: string): string {
  const origin = 'http://localhost';
  if (next.length > maxNextLength || !next.startsWith('/') || !URL.canParse(next, origin)) return '/docs';
  const url = new URL(next, origin);
  const path = url.pathname + url.search + url.hash;
  // A browser takes a path such as `//example.com` as the URL of another site, so it is refused.
  const isHere = url.origin === origin && !path.startsWith('//');
  return isHere && !/^\/log(in|out)\b/.test(path) ? path : '/docs';
}
