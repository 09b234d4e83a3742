import { maxLoginMs } from './begun-logins.ts';
import { readCookie, setCookie } from './cookies.ts';

/** The cookie of a login at an issuer. It is Lax, because the issuer's page sends the browser back to this server. */
const login = { name: 'homeostat-login', sameSite: 'Lax', maxAgeSeconds: maxLoginMs / 1000 } as const;

/** Returns the encrypted login that a browser has begun. Over TLS, only the cookie with the prefix for TLS counts. */
export function readLoginCookie(header: string, isSecure: boolean): string | undefined {
  return readCookie(header, login, isSecure);
}

/** Returns the Set-Cookie header that stores a begun login. The value '' deletes the cookie. */
export function loginCookie(sealed: string, isSecure: boolean): string {
  return setCookie(login, sealed, isSecure);
}
