import { request as requestHttp } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text as textOf } from 'node:stream/consumers';

export interface PageAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * Simulates a browser during a login at an issuer: it keeps the cookies of a server, and follows redirects step by
 * step.
 */
export class LoginBrowser {
  readonly cookies = new Map<string, string>();
  readonly #url: string;
  readonly #ca: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param ca the CA certificate of the issuers, in PEM */
  constructor(url: string, ca: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#ca = ca;
    this.#headers = headers;
  }

  /** Sends a GET for a path, or for the path of a URL, to the server or to another replica. */
  async get(target: string, server = this.#url): Promise<PageAnswer> {
    const { pathname, search } = new URL(target, server);
    const answer = await this.#send(`${server}${pathname}${search}`);
    for (const header of answer.headers['set-cookie'] ?? []) this.#keep(header);
    return answer;
  }

  /** Starts a login with a provider, and returns the URL to which the server redirects. */
  async begin(provider: string, next = '/docs'): Promise<string> {
    const { status, headers, text } = await this.get(`/login/oidc/${provider}?next=${encodeURIComponent(next)}`);
    if (status !== 303) throw new Error(`${status}, not 303: ${text}`);
    return headers.location ?? '';
  }

  /** Opens the issuer's page, which redirects back at once, and returns the URL of the callback. */
  async atIssuer(location: string): Promise<URL> {
    const { headers } = await this.#send(location);
    return new URL(headers.location ?? '');
  }

  /** Executes all steps of a login. */
  async logIn(provider: string, next?: string): Promise<PageAnswer> {
    const callback = await this.atIssuer(await this.begin(provider, next));
    return this.get(callback.href);
  }

  /** Returns another browser with the same cookies. */
  copy(): LoginBrowser {
    const other = new LoginBrowser(this.#url, this.#ca, this.#headers);
    for (const [name, value] of this.cookies) other.cookies.set(name, value);
    return other;
  }

  #keep(header: string): void {
    const [pair = '', ...attributes] = header.split('; ');
    const name = pair.slice(0, pair.indexOf('='));
    if (attributes.includes('Max-Age=0')) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(name.length + 1));
  }

  async #send(url: string): Promise<PageAnswer> {
    const isServer = !url.startsWith('https:');
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = isServer ? { accept: 'text/html', ...this.#headers, ...(cookie === '' ? {} : { cookie }) } : {};
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { headers, agent: false } as const;
      const call = isServer
        ? requestHttp(url, options, resolve)
        : requestHttps(url, { ...options, ca: this.#ca }, resolve);
      call.on('error', reject);
      call.end();
    });
    return { status: response.statusCode ?? 0, headers: response.headers, text: await textOf(response) };
  }
}
