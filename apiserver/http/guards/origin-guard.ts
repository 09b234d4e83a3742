import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { isIPv6 } from 'node:net';
import type { RefusalLog } from '../request/refusal-log.ts';
import type { TrustedProxies } from '../request/trusted-proxies.ts';

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Matches the value of a Host header: a name, or an address (IPv6 in brackets), with an optional port (RFC 9110, 7.2).
 */
const hostForm = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{0,5})?$/i;

/**
 * The maximum number of cached Host headers. A client may write one name in many ways, for example with 65,536 ports.
 */
const maxKeptHeaders = 100;

export interface OriginGuardParts {
  readonly hostNames: readonly string[];
  readonly proxies: TrustedProxies;
  readonly refusals: RefusalLog;
}

/**
 * Refuses (403) requests with an unknown Host, and writes that a page of another origin sends. So a page in a user's
 * browser can neither write to 127.0.0.1, nor read from it by DNS rebinding.
 */
export class OriginGuard {
  readonly #parts: OriginGuardParts;
  readonly #known: KnownHosts;

  constructor(parts: OriginGuardParts) {
    this.#parts = parts;
    this.#known = new KnownHosts(parts.hostNames);
  }

  /**
   * Checks the Host and the origin of a request. @throws ApiError Forbidden; BadRequest when the host is missing,
   * invalid, or given twice.
   */
  check(context: Context): void {
    const { headers, rawHeaders } = context.req;
    const { proxies, refusals } = this.#parts;
    const isKnown = this.#known.has(headers.host ?? '');
    if (isKnown === undefined || countHosts(rawHeaders) > 1) {
      const message =
        'a request must name one host, in one Host header or in its URL: a name or an address, with an optional port';
      throw new ApiError('BadRequest', message);
    }
    const problem = isKnown
      ? problemOfOrigin(context, proxies)
      : 'the Host header names no host of this server; allow it with --host-name';
    if (problem === undefined) return;
    refusals.note(context, problem);
    throw new ApiError('Forbidden', problem);
  }
}

/** The host names by which clients may address the server. */
class KnownHosts {
  readonly #names: ReadonlySet<string>;
  /**
   * A cache of Host headers that name a host of this server. To parse the header at each request would make a GET 1 %
   * slower.
   */
  readonly #headers = new Set<string>();

  constructor(hostNames: readonly string[]) {
    this.#names = new Set([...loopbackNames, ...hostNames.map((name) => inHeader(name.toLowerCase()))]);
  }

  /** Returns whether a Host header names a host of this server; undefined when the header is invalid. */
  has(header: string): boolean | undefined {
    if (this.#headers.has(header)) return true;
    const [, name] = hostForm.exec(header) ?? [];
    if (name === undefined) return undefined;
    if (!this.#names.has(name.toLowerCase())) return false;
    if (this.#headers.size < maxKeptHeaders) this.#headers.add(header);
    return true;
  }
}

/** Counts the Host headers. Several are refused, because Node uses the first, and a proxy may use the last. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/**
 * Returns a name in the form that it has in the Host header, where an IPv6 address must be in brackets (RFC 3986,
 * 3.2.2).
 */
function inHeader(name: string): string {
  return isIPv6(name) ? `[${name}]` : name;
}

function problemOfOrigin(context: Context, proxies: TrustedProxies): string | undefined {
  if (safeMethods.has(context.method)) return undefined;
  const { origin = '', 'sec-fetch-site': site } = context.req.headers;
  // Over HTTPS, and to localhost, browsers set Sec-Fetch-Site on each request from a page of another site. No page can
  // change this header.
  const isForeign = String(site).toLowerCase() === 'cross-site';
  if (!isForeign && (origin === '' || origin.toLowerCase() === ownOrigin(context, proxies))) return undefined;
  return 'writes from pages of another origin are refused';
}

/** Returns the server's own origin in the form that browsers send: without the default port of the scheme. */
function ownOrigin(context: Context, proxies: TrustedProxies): string {
  const scheme = proxies.schemeOf(context);
  const host = context.get('Host').toLowerCase();
  const defaultPort = scheme === 'https' ? ':443' : ':80';
  return `${scheme}://${host.endsWith(defaultPort) ? host.slice(0, -defaultPort.length) : host}`;
}
