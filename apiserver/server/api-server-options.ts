import { randomUUID } from 'node:crypto';
import { containLogger, systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { AuditOptions } from '../audit/audit-trail.ts';
import { defaultEventTtlMs } from '../controllers/event-expiry.ts';
import { checkIssuer } from '../identity/accounts/check-issuer.ts';
import type { AdministratorFile } from '../identity/administrator.ts';
import { checkToken } from '../identity/administrator-token.ts';
import type { HealthCheck } from '../http/pages/health.ts';
import { checkProxy } from '../http/request/trusted-proxies.ts';
import { grantedMemory } from '../limits/process-memory.ts';
import { defaultRetention } from '../registry/history/compactor.ts';
import type { Retention } from '../registry/history/compactor.ts';
import type { TlsOptions } from '../tls/tls-options.ts';
import { checkAllowedHosts, checkServiceOrigin } from '../webhooks/webhook-places.ts';
import { defaultMaxConnections } from './connection-limits.ts';
import { isLoopback } from './loopback.ts';
import { checkServiceDomain } from './service-domain.ts';

/**
 * The two modes of authentication. `required`: clients need a credential. `open`: they need none, and every client on
 * this machine may do everything.
 */
export type AuthMode = 'required' | 'open';

/** The options of an API server. Each has a default. */
export interface ApiServerOptions {
  /**
   * The URL of the database: `sqlite:<file>`, `postgres://…`, `mysql://…`, `etcd://…` or `memory:`. Default
   * `sqlite:./data/homeostat.db`.
   */
  readonly database?: string;
  /**
   * The address to listen on. Default 127.0.0.1. Any other than a loopback address needs {@link tls} or
   * {@link insecure}.
   */
  readonly host?: string;
  /** The port to listen on; 0 selects a free port. Default 8700. */
  readonly port?: number;
  /**
   * `required`: every request except health checks and the login needs a credential, and roles decide what its user may
   * do. `open`: every request has the user `developer`, who may do everything; only allowed with a loopback address.
   * Default: `required` with a {@link token}, a {@link tokenFile}, an {@link authenticationConfig} or a
   * {@link ApiServerOptions.clientCa}; otherwise `open`.
   */
  readonly auth?: AuthMode;
  /**
   * True: accepts requests without a credential. Their user is `system:anonymous` in the group
   * `system:unauthenticated`, and roles decide what they may do. Needs {@link auth} `required`. Default false: such
   * requests get 401.
   */
  readonly anonymousAuth?: boolean;
  /**
   * The administrator's token, which clients send as `Authorization: Bearer <token>`. It has 16 to 1,024 printable
   * ASCII characters, without spaces. Default none.
   */
  readonly token?: string;
  /**
   * The file with the administrator's token. It is used only when {@link auth} is `required` and there is no
   * {@link token}. When the file does not exist, the server generates a token, and writes it into the file. But if
   * other machines may serve the database, and the database has a token already, the server generates none, because
   * another machine has the file. Default none.
   */
  readonly administratorFile?: AdministratorFile;
  /**
   * The path of a file of kind `EncryptionConfiguration` (apiserver.config.k8s.io/v1). It names the kinds whose objects
   * are encrypted in the database, and has the keys. The server's own secrets are always encrypted. Only the owner of
   * the file may have access to it; if the owner is root, its group may read it. Default: Secrets are encrypted, with
   * the key in the file `encryption.key`, which the first start creates: beside a SQLite database, or in `./data` for
   * other databases. A database in memory needs no file: it uses a random key.
   */
  readonly encryptionConfig?: string;
  /**
   * The path of a YAML file with the SHA-256 of further tokens, and the users of these tokens. Only the owner of the
   * file may have access to it; if the owner is root, its group may read it. It is read again every minute. Default
   * none.
   */
  readonly tokenFile?: string;
  /**
   * The path of a YAML file with an AuthenticationConfiguration of Kubernetes: the OpenID Connect issuers whose tokens
   * are accepted. Only the owner of the file may have access to it; if the owner is root, its group may read it. It is
   * read again every minute. Default none.
   */
  readonly authenticationConfig?: string;
  /**
   * The issuer of service accounts' tokens, which is also their default audience: an https URL. Other programs that
   * verify the tokens find the keys through `<issuer>/.well-known/openid-configuration`. Default
   * `https://<serviceDomain>`.
   */
  readonly serviceAccountIssuer?: string;
  /**
   * Serves HTTPS with TLS 1.2 or newer. Certificates are renewed, or read again, while the server runs. Default: plain
   * HTTP.
   */
  readonly tls?: TlsOptions;
  /**
   * The path of a PEM file with the authorities whose client certificates are accepted. The common name of a
   * certificate is the user, and its organizations are the groups. The file is read again every hour. Default: the
   * authority in the {@link tls} folder, if there is one. Needs {@link tls}.
   */
  readonly clientCa?: string;
  /** True: accepts plain HTTP from other machines. Default false. */
  readonly insecure?: boolean;
  /** The host names and addresses that clients may use, in addition to loopback names and `host`. */
  readonly hostNames?: readonly string[];
  /**
   * The domain of the service's own groups, in and below which no plugin may register a kind. Default
   * `homeostat.internal`.
   */
  readonly serviceDomain?: string;
  /** The amount of history that is kept, so that watches can resume. */
  readonly retention?: Partial<Retention>;
  /** The time between two bookmarks of a watch that has requested bookmarks. Default 60 s. */
  readonly bookmarkIntervalMs?: number;
  /** The maximum number of concurrent watches; further ones get 429. Default 10,000. */
  readonly maxWatches?: number;
  /**
   * The number of processes on this machine that serve together. They share the memory that the system allows. Default
   * 1.
   */
  readonly processes?: number;
  /** Returns the text of `GET /metrics`. `own` are the metrics of this process. Default: returns only these. */
  readonly gatherMetrics?: (own: string) => string | Promise<string>;
  /**
   * The checks of `/readyz`, from the first request on. {@link ApiServer.addReadyCheck} adds further checks later.
   * Default none.
   */
  readonly readyChecks?: readonly HealthCheck[];
  /**
   * Returns the reason why a kind that was served before is not served at the moment. Clients then get this text, in a
   * 503 with Retry-After. Returns undefined when the kind will not be served again; clients then get 404. Default:
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
   * The maximum number of concurrent watches of one user; further ones get 429. Default 1,000; with {@link auth}
   * `open`, where all requests have the same user, no limit.
   */
  readonly maxWatchesPerUser?: number;
  /**
   * The maximum number of connections from one address that have not carried a request with a valid credential yet. A
   * request on a further connection gets 429. Connections of trusted proxies are not counted. Default 256; with
   * {@link auth} `open` no limit.
   */
  readonly maxUnknownConnectionsPerAddress?: number;
  /**
   * The maximum number of concurrent connections. Beyond it, a new connection replaces one that has sent no request
   * yet, is idle between requests, or sends a request slowly. If there is none, the new connection is closed. Default:
   * seven eighths of the process's file descriptors, but at least 100 remain for other files; no limit if the system
   * does not report their number.
   */
  readonly maxConnections?: number;
  /**
   * The addresses and networks (`10.0.0.0/8`) of proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` are trusted.
   * Default none.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * The maximum memory, in bytes, of all responses that clients have not read yet. Beyond it, reads with a response of
   * 64 KiB or more get 503 with Retry-After. The responses to one client address (with IPv6: to one /64 network) may
   * take half of it. Lists in JSON hardly count, because they are sent from the stored bytes. Default 256 MiB.
   */
  readonly maxAnswerBytes?: number;
  /** Records requests in a file: all of them, or those that a policy selects. Default: requests are not audited. */
  readonly audit?: AuditOptions;
  /**
   * The origins (`https://<host>:<port>`) of the services that webhooks name. Each key is the `<namespace>/<name>` of a
   * service. This server routes no traffic to services, so it cannot find their origins itself. Default none.
   */
  readonly webhookServices?: Readonly<Record<string, string>>;
  /**
   * The hosts of webhooks that the server may call, in addition to {@link webhookServices}: `<host>`, `<host>:<port>`
   * or `*.<domain>`. Default: every host. Link-local addresses and those of clouds' metadata services are never called.
   */
  readonly webhookHosts?: readonly string[];
  /** The time from an event's last occurrence to its deletion. Default one hour. */
  readonly eventTtlMs?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Returns a random number from 0 to below 1, with a uniform distribution. */
  readonly random?: () => number;
  readonly uuid?: () => string;
}

/** The options of a server. An option that was not given has its default. */
export type Settings = Required<
  Omit<
    ApiServerOptions,
    | 'retention'
    | 'token'
    | 'administratorFile'
    | 'tokenFile'
    | 'authenticationConfig'
    | 'serviceAccountIssuer'
    | 'tls'
    | 'maxConnections'
    | 'encryptionConfig'
    | 'audit'
    | 'clientCa'
    | 'webhookHosts'
  >
> & {
  readonly encryptionConfig: string | undefined;
  readonly retention: Retention;
  readonly token: string | undefined;
  readonly administratorFile: AdministratorFile | undefined;
  readonly tokenFile: string | undefined;
  readonly authenticationConfig: string | undefined;
  readonly clientCa: string | undefined;
  readonly serviceAccountIssuer: string | undefined;
  readonly maxConnections: number | undefined;
  readonly tls: TlsOptions | undefined;
  readonly audit: AuditOptions | undefined;
  readonly webhookHosts: readonly string[] | undefined;
};

export function settingsOf(options: ApiServerOptions): Settings {
  const descriptorShare = defaultMaxConnections();
  const auth = options.auth ?? (hasCredentials(options) ? 'required' : 'open');
  return {
    database: 'sqlite:./data/homeostat.db',
    host: '127.0.0.1',
    port: 8700,
    insecure: false,
    anonymousAuth: false,
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
    processes: 1,
    gatherMetrics: (own) => own,
    webhookServices: {},
    webhookHosts: undefined,
    awaitedKind: () => undefined,
    token: undefined,
    administratorFile: undefined,
    encryptionConfig: undefined,
    tokenFile: undefined,
    authenticationConfig: undefined,
    clientCa: undefined,
    serviceAccountIssuer: undefined,
    tls: undefined,
    audit: undefined,
    ...userLimits(auth),
    auth,
    ...options,
    logger: containLogger(options.logger ?? silentLogger),
    retention: { ...defaultRetention(grantedMemory(options.processes ?? 1)), ...options.retention },
  };
}

/**
 * Returns the default limits that depend on users or credentials. An open server has none, because all requests have
 * the same user and need no credential.
 */
function userLimits(auth: AuthMode): Pick<Settings, 'maxWatchesPerUser' | 'maxUnknownConnectionsPerAddress'> {
  const isOpen = auth === 'open';
  return {
    maxWatchesPerUser: isOpen ? Number.POSITIVE_INFINITY : 1000,
    maxUnknownConnectionsPerAddress: isOpen ? Number.POSITIVE_INFINITY : 256,
  };
}

/** Returns true when an option configures credentials. */
function hasCredentials(options: ApiServerOptions): boolean {
  const { token, tokenFile, authenticationConfig, clientCa } = options;
  return [token, tokenFile, authenticationConfig, clientCa].some((option) => option !== undefined);
}

/**
 * Returns the default for the maximum number of watches of one client address. A watch uses a connection, so one
 * address must not be able to use all connections for watches.
 */
function watchShare(maxConnections: number | undefined): number {
  return maxConnections === undefined ? 5000 : Math.min(5000, Math.ceil(maxConnections / 2));
}

/**
 * Checks the values of options, and options that depend on each other. @throws TypeError that names the option, for
 * example for an invalid token, domain or proxy, and for an open server that other machines can reach
 */
export function checkSettings(settings: Settings): void {
  const { auth, host, token, tls, clientCa, serviceAccountIssuer, serviceDomain, trustedProxies, webhookHosts } =
    settings;
  const isExposed = auth === 'open' && !isLoopback(host);
  const [problem] = [
    ...(isExposed ? [`auth: "open" accepts every request, so it is for loopback addresses only, not for ${host}`] : []),
    ...(auth === 'open' && settings.anonymousAuth ? ['anonymousAuth: needs auth "required"'] : []),
    ...(token === undefined ? [] : checkToken(token).map((rule) => `token: ${rule}`)),
    ...(serviceAccountIssuer === undefined ? [] : checkIssuer(serviceAccountIssuer)).map(
      (rule) => `serviceAccountIssuer: ${rule}`,
    ),
    ...(clientCa !== undefined && tls === undefined ? ['clientCa: needs tls: plain HTTP has no certificates'] : []),
    ...checkServiceDomain(serviceDomain).map((rule) => `serviceDomain: ${rule}`),
    ...checkAllowedHosts(webhookHosts ?? []).map((rule) => `webhookHosts: ${rule}`),
    ...Object.entries(settings.webhookServices)
      .flatMap((service) => checkServiceOrigin(...service))
      .map((rule) => `webhookServices: ${rule}`),
    ...trustedProxies.flatMap((proxy) => checkProxy(proxy) ?? []).map((rule) => `trustedProxies: ${rule}`),
  ];
  if (problem !== undefined) throw new TypeError(problem);
}
