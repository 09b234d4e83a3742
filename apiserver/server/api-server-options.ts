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
  /** HTTPS, by TLS 1.2 or newer. Default plain HTTP. Certificates are renewed, or read again, while the server runs. */
  readonly tls?: TlsOptions;
  /** Listen beyond this machine, in the clear. */
  readonly insecure?: boolean;
  /** Host names and addresses to answer to, besides loopback names and `host`. */
  readonly hostNames?: readonly string[];
  /** Reserved suffix of the service's own groups. Default `homeostat.internal`. */
  readonly serviceDomain?: string;
  /** How much history watchers can resume from. */
  readonly retention?: Partial<Retention>;
  /** Default 60 s. */
  readonly bookmarkIntervalMs?: number;
  /** Watches at the same time; beyond it 429. Default 10,000. */
  readonly maxWatches?: number;
  /** Checks of `/readyz`, from the first request on; {@link ApiServer.addReadyCheck} adds more later. Default none. */
  readonly readyChecks?: readonly HealthCheck[];
  /**
   * Why a kind that was served before is not served at the moment, in words for its clients: they get 503 with
   * Retry-After. undefined: nothing will serve it again, and they get 404. Default: undefined for each kind.
   */
  readonly awaitedKind?: (kind: { readonly group: string; readonly plural: string }) => string | undefined;
  /**
   * Watches of one client address at the same time; beyond it 429. Behind a proxy that {@link trustedProxies} names, the address
   * is that of `X-Forwarded-For`. Default 5,000, and half of {@link maxConnections} at most.
   */
  readonly maxWatchesPerAddress?: number;
  /**
   * Connections at the same time. Beyond it a new one takes the place of one that has sent no request, waits for its next, or sends it slowly.
   * Default: the file descriptors of the process without an eighth, 100 at least; where the system does not tell, no limit.
   */
  readonly maxConnections?: number;
  /**
   * Addresses and networks (`10.0.0.0/8`) of proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` are believed. Default none.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * Memory of all answers that clients have yet to read, in bytes; beyond it 503 with Retry-After. Lists in JSON are sent from
   * what is stored, and hardly count. Default 256 MiB.
   */
  readonly maxAnswerBytes?: number;
  /** From an event's last occurrence to its deletion. Default an hour. */
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

/** What one client address may have: its watches are connections as well, and must not take all of them. */
function watchShare(maxConnections: number | undefined): number {
  return maxConnections === undefined ? 5000 : Math.min(5000, Math.ceil(maxConnections / 2));
}

/** @throws TypeError for a token, a domain or a proxy that is none */
export function checkSettings({ token, serviceDomain, trustedProxies }: Settings): void {
  const [problem] = [
    ...(token === undefined ? [] : checkToken(token).map((rule) => `token: ${rule}`)),
    ...checkServiceDomain(serviceDomain).map((rule) => `serviceDomain: ${rule}`),
    ...trustedProxies.flatMap((proxy) => checkProxy(proxy) ?? []).map((rule) => `trustedProxies: ${rule}`),
  ];
  if (problem !== undefined) throw new TypeError(problem);
}
