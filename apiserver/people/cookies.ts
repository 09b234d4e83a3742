/** A cookie of the login, and how long a browser keeps it. */
interface LoginCookie {
  readonly name: string;
  /**
   * With Strict, the browser never sends the cookie with a request from another site. With Lax, it sends the cookie
   * with such a request only when the person follows a link or redirect.
   */
  readonly sameSite: 'Strict' | 'Lax';
  readonly maxAgeSeconds: number;
}

/**
 * The prefix of cookies over TLS. Browsers accept a cookie with this prefix only from the host itself, over TLS, so no
 * other host can set it.
 */
const securePrefix = '__Host-';

/** Returns the value of a cookie from a Cookie header. Over TLS, only the cookie with the prefix for TLS counts. */
export function readCookie(header: string, { name }: LoginCookie, isSecure: boolean): string | undefined {
  const wanted = nameFor(name, isSecure);
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === wanted) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/**
 * Returns the Set-Cookie header that stores a secret in a browser, where scripts cannot read it. The value '' deletes
 * the cookie.
 */
export function setCookie(cookie: LoginCookie, value: string, isSecure: boolean): string {
  const { name, sameSite, maxAgeSeconds } = cookie;
  const secure = isSecure ? '; Secure' : '';
  const maxAge = value === '' ? 0 : maxAgeSeconds;
  return `${nameFor(name, isSecure)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=${sameSite}${secure}`;
}

function nameFor(name: string, isSecure: boolean): string {
  return isSecure ? securePrefix + name : name;
}
