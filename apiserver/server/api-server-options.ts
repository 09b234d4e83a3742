import { randomUUID } from 'node:crypto';
import { containLogger, systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { defaultEventTtlMs } from '../controllers/event-expiry.ts';
import { checkToken } from '../http/guards/check-token.ts';
import type { HealthCheck } from '../http/pages/health.ts';
import { checkProxy } from '../http/request/trusted-proxies.ts';
import { defaultRetention } from '../registry/history/compactor.ts';
import type { Retention } from '../registry/history/compactor.ts';
import type { TlsOptions } from '../tls/tls-options.ts';
import { defaultMaxConnections } from './connection-limits.ts';
import { checkServiceDomain } from './service-domain.ts';

/** How to run an API server. Everything has a default. */
export interface ApiServerOptions {
  /** `sqlite:<file>`, `postgres://…`, `mysql://…` or `memory:`. Default `sqlite:./data/homeostat.db`. */
  readonly database?: string;
  /** Address to listen on. Default 127.0.0.1. Any but a loopback address needs {@link tls}, or {@link insecure}. */
  readonly host?: string;
  /** Default 8700; 0 takes a free one. */
  readonly port?: number;
  /**
   * The token that every request except health checks has to send as `Authorization: Bearer <token>`; 401 without it.
   * 16 to 1,024 printable ASCII characters, no space. Default none: every client that reaches the port may do
   * everything.
   */
  readonly token?: string;
  /**
   * HTTPS with TLS 1.2 or newer. Default plain HTTP. Certificates are renewed, or read again, while the server runs.
   */
  readonly tls?: TlsOptions;
  /** Accept plain HTTP from other machines. */
  readonly insecure?: boolean;
  /** Host names and addresses that clients may use, besides loopback names and `host`. */
  readonly hostNames?: readonly string[];
  /** Reserved suffix of the service's own groups. Default `homeostat.internal`. */
  readonly serviceDomain?: string;
  /** The amount of history from which watchers can resume. */
  readonly retention?: Partial<Retention>;
  /** Default 60 s. */
  readonly bookmarkIntervalMs?: number;
  /** The maximum number of concurrent watches; further ones get 429. Default 10,000. */
  readonly maxWatches?: number;
  /** Checks of `/readyz`, from the first request on; {@link ApiServer.addReadyCheck} adds more later. Default none. */
  readonly readyChecks?: readonly HealthCheck[];
  /**
   * Returns the reason why a kind that was served before is not served at the moment, in words for clients: they get
   * 503 with Retry-After. When it returns undefined, nothing will serve the kind again, and clients get 404. Default:
   * undefined for each kind.
   */
  readonly awaitedKind?: (kind: { readonly group: string; readonly plural: string }) => string | undefined;
  /**
   * The maximum number of concurrent watches from one client address; further ones get 429. Behind a proxy in {@link
   * trustedProxies}, the address is that of `X-Forwarded-For`. Default 5,000, but at most half of {@link
   * maxConnections}.
   */
  readonly maxWatchesPerAddress?: number;
  /**
   * The maximum number of concurrent connections. Beyond it, a new connection replaces one that has sent no request,
   * waits for its next request, or sends it slowly. Default: seven eighths of the process's file descriptors, leaving
   * at least 100; no limit where the system does not report their number.
   */
  readonly maxConnections?: number;
  /**
   * Addresses and networks (`10.0.0.0/8`) of proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` are trusted.
   * Default none.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * The memory in bytes of all responses that clients have not read yet; beyond it requests get 503 with Retry-After.
   * Lists in JSON are sent from stored bytes and hardly count. Default 256 MiB.
   */
  readonly maxAnswerBytes?: number;
  /** The time from an event's last occurrence to its deletion. Default one hour. */
  readonly eventTtlMs?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly uuid?: () => string;
}

/** The options of a server, with their defaults. */
export type Settings = Required<Omit<ApiServerOptions, 'retention' | 'token' | 'tls' | 'maxConnections'>> & {
  readonly retention: Retention;
  readonly token: string | undefined;
  readonly maxConnections: number | undefined;
  readonly tls: TlsOptions | undefined;
};

export function settingsOf(options: ApiServerOptions): Settings {
  const descriptorShare = defaultMaxConnections();
  return {
    database: 'sqlite:./data/homeostat.db',
    host: '127.0.0.1',
    port: 8700,
    insecure: false,
    hostNames: [],
    serviceDomain: 'homeostat.internal',
    bookmarkIntervalMs: 60_000,
    maxWatches: 10_000,
    maxWatchesPerAddress: watchShare(options.maxConnections ?? descriptorShare),
    maxConnections: descriptorShare,
    trustedProxies: [],
    maxAnswerBytes: 256 * 1024 * 1024,
    eventTtlMs: defaultEventTtlMs,
    clock: systemClock,
    random: Math.random,
    uuid: randomUUID,
    readyChecks: [],
    awaitedKind: () => undefined,
    token: undefined,
    tls: undefined,
    ...options,
    logger: containLogger(options.logger ?? silentLogger),
    retention: { ...defaultRetention, ...options.retention },
  };
}

/** The share of one client address: watches are connections as well, and must not take all of them. */
function watchShare(maxConnections: number | undefined): number {
  return maxConnections === undefined ? 5000 : Math.min(5000, Math.ceil(maxConnections / 2));
}

/** @throws TypeError for an invalid token, domain or proxy */
export function checkSettings({ token, serviceDomain, trustedProxies }: Settings): void {
  const [problem] = [
    ...(token === undefined ? [] : checkToken(token).map((rule) => `token: ${rule}`)),
    ...checkServiceDomain(serviceDomain).map((rule) => `serviceDomain: ${rule}`),
    ...trustedProxies.flatMap((proxy) => checkProxy(proxy) ?? []).map((rule) => `trustedProxies: ${rule}`),
  ];
  if (problem !== undefined) throw new TypeError(problem);
}
