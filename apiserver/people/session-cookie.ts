import { readCookie, setCookie } from './cookies.ts';
import { maxSessionMs } from './sessions.ts';

const session = { name: 'homeostat-session', sameSite: 'Strict', maxAgeSeconds: maxSessionMs / 1000 } as const;

/** Returns the secret of a session from a Cookie header. Over TLS, only the cookie with the prefix for TLS counts. */
export function readSessionCookie(header: string, isSecure: boolean): string | undefined {
  return readCookie(header, session, isSecure);
}

/**
 * Returns the Set-Cookie header that stores a secret in a browser. No script can read the cookie, and no other site can
 * make the browser send it.
 */
export function sessionCookie(secret: string, isSecure: boolean): string {
  return setCookie(session, secret, isSecure);
}

/** Returns the Set-Cookie header that deletes the session's cookie. */
export function endedSessionCookie(isSecure: boolean): string {
  return setCookie(session, '', isSecure);
}
