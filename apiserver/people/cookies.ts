/** A cookie of the login, and how long a browser keeps it. */
interface LoginCookie {
  readonly name: string;
  /**
   * Strict: the browser sends it only with requests from this site's own pages. Lax: also when another site leads the
   * person here.
   */
  readonly sameSite: 'Strict' | 'Lax';
  readonly maxAgeSeconds: number;
}

/** Browsers accept a cookie of this prefix only from the host itself, over TLS, so no other host can plant one. */
const securePrefix = '__Host-';

/** Returns the value of a cookie in a Cookie header. Over TLS, only the cookie for TLS counts. */
export function readCookie(header: string, { name }: LoginCookie, isSecure: boolean): string | undefined {
  const wanted = nameFor(name, isSecure);
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === wanted) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** Returns the Set-Cookie header that keeps a secret in a browser, out of reach of scripts; '' deletes it. */
export function setCookie(cookie: LoginCookie, value: string, isSecure: boolean): string {
  const { name, sameSite, maxAgeSeconds } = cookie;
  const secure = isSecure ? '; Secure' : '';
  const maxAge = value === '' ? 0 : maxAgeSeconds;
  return `${nameFor(name, isSecure)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=${sameSite}${secure}`;
}

function nameFor(name: string, isSecure: boolean): string {
  return isSecure ? securePrefix + name : name;
}
