import { maxLoginMs } from './begun-logins.ts';
import { readCookie, setCookie } from './cookies.ts';

/** Lax, because the issuer's page sends the browser back to this server. */
const login = { name: 'homeostat-login', sameSite: 'Lax', maxAgeSeconds: maxLoginMs / 1000 } as const;

/** Returns the login that a browser has begun, encrypted. Over TLS, only the cookie for TLS counts. */
export function readLoginCookie(header: string, isSecure: boolean): string | undefined {
  return readCookie(header, login, isSecure);
}

/** Returns the Set-Cookie header that keeps a begun login; '' deletes it. */
export function loginCookie(sealed: string, isSecure: boolean): string {
  return setCookie(login, sealed, isSecure);
}
