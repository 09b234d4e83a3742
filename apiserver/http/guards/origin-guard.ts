import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import type { RefusalLog } from '../request/refusal-log.ts';
import type { TrustedProxies } from '../request/trusted-proxies.ts';

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A name or an address, in brackets if it is one of IPv6, and perhaps a port (RFC 9110, 7.2). */
const hostForm = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{0,5})?$/i;

/** A client may write one name in many ways, with 65,536 ports. */
const maxKeptHeaders = 100;

export interface OriginGuardParts {
  readonly hostNames: readonly string[];
  readonly proxies: TrustedProxies;
  readonly refusals: RefusalLog;
}

/**
 * Answers only to Host names it knows, and refuses writes that another site's page sends: a page in someone's browser
 * must not be able to write to 127.0.0.1, nor read from it by rebinding a name (403).
 */
export function originGuard({ hostNames, proxies, refusals }: OriginGuardParts): Middleware {
  const known = new KnownHosts(hostNames);
  const forbid = (context: Context, message: string): ApiError => {
    refusals.note(context, message);
    return new ApiError('Forbidden', message);
  };
  return function guardOrigin(context, next): Promise<void> {
    const problem = problemOfHost(context.req, known) ?? problemOfOrigin(context, proxies);
    if (problem !== undefined) throw forbid(context, problem);
    return next();
  };
}

/** @throws ApiError BadRequest when the host is not told, told twice, or is none. */
function problemOfHost({ headers, rawHeaders }: IncomingMessage, known: KnownHosts): string | undefined {
  const { host = '' } = headers;
  const isKnown = known.has(host);
  if (isKnown === undefined || countHosts(rawHeaders) > 1) {
    const message =
      'a request needs one host: one Host header, or a URL, with a name or an address, and perhaps a port';
    throw new ApiError('BadRequest', message);
  }
  return isKnown ? undefined : 'the Host header names no host of this server; allow it with --host-name';
}

/** The host names of a server. */
class KnownHosts {
  readonly #names: ReadonlySet<string>;
  /** Headers that were found to name one of them: to parse each again would cost a GET 1 %. */
  readonly #headers = new Set<string>();

  constructor(hostNames: readonly string[]) {
    this.#names = new Set([...loopbackNames, ...hostNames.map((name) => inHeader(name.toLowerCase()))]);
  }

  /** Whether a Host header names one; undefined when it is none. */
  has(header: string): boolean | undefined {
    if (this.#headers.has(header)) return true;
    const [, name] = hostForm.exec(header) ?? [];
    if (name === undefined) return undefined;
    if (!this.#names.has(name.toLowerCase())) return false;
    if (this.#headers.size < maxKeptHeaders) this.#headers.add(header);
    return true;
  }
}

/** Refuses several Host headers: node would take the first, a proxy perhaps the last. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/** An address of IPv6 stands in brackets there (RFC 3986, 3.2.2). */
function inHeader(name: string): string {
  return isIPv6(name) ? `[${name}]` : name;
}

function problemOfOrigin(context: Context, proxies: TrustedProxies): string | undefined {
  if (safeMethods.has(context.method)) return undefined;
  // A browser says so of each request that another site's page makes, and no page can change it.
  const isForeign = context.get('Sec-Fetch-Site').toLowerCase() === 'cross-site';
  const origin = context.get('Origin').toLowerCase();
  if (!isForeign && (origin === '' || origin === ownOrigin(context, proxies))) return undefined;
  return 'writes from pages of another origin are refused';
}

/** The server's own origin in the form that browsers send: without the scheme's default port. */
function ownOrigin(context: Context, proxies: TrustedProxies): string {
  const scheme = proxies.schemeOf(context);
  const host = context.get('Host').toLowerCase();
  const defaultPort = scheme === 'https' ? ':443' : ':80';
  return `${scheme}://${host.endsWith(defaultPort) ? host.slice(0, -defaultPort.length) : host}`;
}
