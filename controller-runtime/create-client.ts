import { silentLogger } from './api/index.ts';
import type { Clock, Logger, Model } from './api/index.ts';
import { shareInformers } from './cache/shared-informers.ts';
import type { Client } from './client/client.ts';
import { HttpClient } from './client/http/http-client.ts';
import { findServer } from './client/http/kubeconfig.ts';
import { HttpReads } from './client/http/http-reads.ts';
import { HttpTransport } from './client/http/http-transport.ts';
import { trustingFetch } from './client/http/trusting-fetch.ts';
import { systemClock } from './clock/system-clock.ts';
import { containLogger } from './client/contain-logger.ts';
import type { Metrics } from './telemetry/metrics.ts';

export interface HttpClientOptions {
  /** Headers that are sent with each request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The bearer token. Over plain HTTP, anyone on the network path can read it. Default: none. */
  readonly token?: string;
  /**
   * The time limit of one request, including the body of its response. For a watch, the limit ends with the headers of
   * the response. Default 30,000 ms.
   */
  readonly requestTimeoutMs?: number;
  /** The time without a byte after which a watch reconnects. Default 120,000 ms: twice the interval of bookmarks. */
  readonly watchSilenceMs?: number;
  /**
   * Models that `update` and `updateStatus` find without a request for discovery. The client adds the models that its
   * other methods receive. Default: none.
   */
  readonly models?: readonly Model[];
  /**
   * The certificate authorities, as PEM: a server is trusted only if one of them has issued its certificate. Default:
   * the authorities that Node.js trusts. Needs an `https:` URL, and cannot be combined with {@link fetch}.
   */
  readonly ca?: string;
  /**
   * The client's own certificate, as PEM, by which a server may identify the user. Needs {@link key} and an `https:`
   * URL, and cannot be combined with {@link fetch}. Default: none.
   */
  readonly cert?: string;
  /** The private key of {@link cert}, as PEM, not encrypted. */
  readonly key?: string;
  /**
   * The function that sends the requests. Default: the fetch of Node.js. A fetch with its own dispatcher or agent can
   * add certificates and proxies.
   */
  readonly fetch?: typeof fetch;
  /** The clock of timeouts and retries. Default: the system clock. */
  readonly clock?: Clock;
  /**
   * The logger to which the client writes the server's warnings and reports interrupted watches. Default: nothing is
   * logged.
   */
  readonly logger?: Logger;
  /** The metrics in which requests are counted, as `rest_client_requests_total`. Default: they are not counted. */
  readonly metrics?: Metrics;
  /** Returns a random number in [0, 1) for the jitter of retries. Default: Math.random. */
  readonly random?: () => number;
}

/**
 * Makes a client of the server at `url` (`https://host:port`; the URL may have a path, which precedes `/apis`). Without
 * a URL, makes a client of the server that {@link findServer} returns, with the credential found there. The client
 * opens no connection before it is used, and need not be closed: watches and informers end with their signals. No write
 * is sent twice, with two exceptions: after a 429 or a 503 with a Retry-After of at most 60 s, any request is repeated,
 * at most 10 times; and `ensure` repeats its writes as its documentation describes. Throws TypeError for an invalid
 * URL, or when `ca`, `cert` or `key` cannot be used; RangeError when a time is not above 0; without a URL, also the
 * errors of {@link findServer}.
 */
export function createClient(url?: string, options?: HttpClientOptions): Client {
  if (url !== undefined) return clientOf(url, options ?? {});
  const { url: found, ...access } = findServer();
  return clientOf(found, { ...access, ...options });
}

function clientOf(url: string, options: HttpClientOptions): Client {
  const { clock = systemClock, random = Math.random, models = [] } = options;
  const logger = containLogger(options.logger ?? silentLogger);
  const { requestTimeoutMs = 30_000, watchSilenceMs: silenceMs = 120_000 } = options;
  checkPositive({ requestTimeoutMs, watchSilenceMs: silenceMs });
  const fetch = fetchOf(url, options);
  const authorization = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
  const headers = { ...options.headers, ...authorization };
  const counting = options.metrics === undefined ? {} : { onAnswer: counterOf(options.metrics, url) };
  const transport = new HttpTransport({ url, headers, requestTimeoutMs, fetch, clock, logger, ...counting });
  const parts = { transport, clock, logger, random, silenceMs };
  const reads = new HttpReads(parts);
  const metadataReads = new HttpReads({ ...parts, metadataOnly: true });
  const informer = shareInformers({ client: reads, metadataClient: metadataReads, clock, logger, random });
  return new HttpClient({ transport, reads, models, informer });
}

function counterOf(metrics: Metrics, url: string): (method: string, code: string) => void {
  const help = 'Requests of clients, by the code of the response.';
  const requests = metrics.counter({ name: 'rest_client_requests_total', help, labels: ['code', 'method', 'host'] });
  const { host } = new URL(url);
  return (method, code) => requests.of(code, method, host).inc();
}

/**
 * Returns the fetch for the options. Refuses authorities and certificates that would not be used, because users would
 * otherwise believe that the connection is verified.
 */
function fetchOf(url: string, { ca, cert, key, fetch }: HttpClientOptions): typeof globalThis.fetch {
  const given = Object.entries({ ca, cert, key }).find(([, value]) => value !== undefined);
  if (given === undefined) return fetch ?? globalThis.fetch;
  const [name] = given;
  if (fetch !== undefined)
    throw new TypeError(`${name}: cannot be combined with the option fetch; configure TLS in that function`);
  const { protocol } = new URL(url);
  if (protocol !== 'https:') throw new TypeError(`${name}: cannot be used over ${protocol}`);
  return trustingFetch({ ca, cert, key });
}

function checkPositive(times: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(times)) {
    if (!(value > 0)) throw new RangeError(`${name} must be above 0, is ${value}`);
  }
}
