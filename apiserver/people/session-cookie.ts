import { maxSessionMs } from './sessions.ts';

/** Browsers accept a cookie of this prefix only from the host itself, over TLS, so no other host can plant one. */
const secureName = '__Host-homeostat-session';
const plainName = 'homeostat-session';

/** Returns the secret in a Cookie header; over TLS, only that of the cookie for TLS. */
export function readSessionCookie(header: string, isSecure: boolean): string | undefined {
  const name = nameFor(isSecure);
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/**
 * Returns the Set-Cookie header that stores a secret in a browser. No script can read the cookie, and no other site can
 * make the browser send it.
 */
export function sessionCookie(secret: string, isSecure: boolean): string {
  return cookieOf(secret, { isSecure, maxAgeSeconds: maxSessionMs / 1000 });
}

/** Returns the Set-Cookie header that deletes it. */
export function endedSessionCookie(isSecure: boolean): string {
  return cookieOf('', { isSecure, maxAgeSeconds: 0 });
}

interface CookieParts {
  readonly isSecure: boolean;
  readonly maxAgeSeconds: number;
}

function cookieOf(value: string, { isSecure, maxAgeSeconds }: CookieParts): string {
  const secure = isSecure ? '; Secure' : '';
  return `${nameFor(isSecure)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}

function nameFor(isSecure: boolean): string {
  return isSecure ? secureName : plainName;
}
