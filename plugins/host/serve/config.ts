import { checkIssuer, checkServiceDomain, checkToken } from '@homeostat/apiserver/command-line';
import type { ApiServerOptions, AuditOptions, AuthMode, Retention, TlsOptions } from '@homeostat/apiserver';
import { dirname, join, resolve } from 'node:path';
import { ConfigError } from './config-error.ts';
import { ConfigValues } from './config-values.ts';
import type { ConfigSources, Given, LogFormat, LogLevel } from './config-values.ts';
import type { ServeOptionName } from './serve-options.ts';
import { present } from '../text/present.ts';

/** The configuration of `homeostat serve`. */
export interface ServeConfig extends Pick<
  ApiServerOptions,
  'anonymousAuth' | 'maxWatchesPerUser' | 'maxUnknownConnectionsPerAddress'
> {
  readonly database: string;
  /** The source of the database's address, such as `--database`; messages name it. */
  readonly databaseOrigin: string;
  readonly host: string;
  readonly port: number;
  /** Absolute paths. */
  readonly plugins: readonly string[];
  /** The absolute path of the folder of installed plugins. When absent, plugins cannot be installed. */
  readonly pluginsDir?: string;
  readonly hostNames: readonly string[];
  readonly serviceDomain: string;
  readonly auth: AuthMode;
  /**
   * The administrator's token. It is secret, so no message contains it. When absent, the token in
   * {@link adminKubeconfig} is used.
   */
  readonly token?: string;
  /** The file of the administrator's kubeconfig, beside the database. */
  readonly adminKubeconfig: string;
  /** Absolute path. */
  readonly tokenFile?: string;
  /** The absolute path of the file with the encryption keys. When absent, the server makes a key. */
  readonly encryptionConfig?: string;
  /** Absolute path. */
  readonly authenticationConfig?: string;
  readonly serviceAccountIssuer?: string;
  readonly clientCa?: string;
  /** The files of TLS, with paths as the user gave them. Absent for plain HTTP. */
  readonly tls?: TlsOptions;
  readonly insecure: boolean;
  /**
   * The addresses and networks of proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` headers the server trusts.
   * When absent, no proxy is trusted.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * The addresses of the services that webhooks name. Each key is the `<namespace>/<name>` of a service. When absent,
   * no service has an address.
   */
  readonly webhookServices?: Readonly<Record<string, string>>;
  /** The hosts of webhooks that the server may call. When absent, it may call every host. */
  readonly webhookHosts?: readonly string[];
  /** The limits of the history. Absent limits have the server's defaults. */
  readonly retention: Partial<Retention>;
  /** The lifetime of events. When absent, the server's default applies. */
  readonly eventTtlMs?: number;
  /** The options of the audit log. When absent, requests are not audited. */
  readonly audit?: AuditOptions;
  /** The number of processes that serve requests at the port. */
  readonly processes: number;
  /**
   * True when `processes` are workers of a SQLite database. Only the process that starts the workers has the database
   * open.
   */
  readonly hasWorkers: boolean;
  /** True to run controllers in only one replica. When absent, it is true if other servers may use the database. */
  readonly leaderElection?: boolean;
  /** True to record the runs of controllers. When absent, it is true. */
  readonly reportRuns?: boolean;
  readonly logLevel: LogLevel;
  /** The format of the log. When absent, the log has readable lines at a terminal, and JSON otherwise. */
  readonly logFormat?: LogFormat;
  readonly hints: boolean;
  /** True when the console is served at `/console/`. */
  readonly console: boolean;
  /** True when the server ends after a failure of a plugin in `plugins`. */
  readonly strict: boolean;
}

const userLimit = { least: 1, most: 1_000_000 };
const loopback: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/**
 * Takes each value from the flags, or else from the environment, or else from the file, or else from the defaults.
 * Lists in the environment are separated by commas. Relative paths in the file start at the folder of the file, except
 * those of `database`, `tls-cert`, `tls-key` and `tls-dir`. These, and all relative paths elsewhere, start at the
 * working directory.
 * @throws ConfigError with all problems at once.
 */
export function readConfig(sources: ConfigSources): ServeConfig {
  const values = new ConfigValues(sources);
  const database = values.text('database') ?? given('sqlite:./data/homeostat.db');
  const host = values.text('host') ?? given('127.0.0.1');
  const transport = readTransport(values, { host, database: database.value });
  const credentials = readCredentials(values, transport.tls);
  const { isOpenByDefault } = sources;
  const auth = readAuth(values, {
    host: host.value,
    hasCredential: Object.keys(credentials).length > 0,
    isOpenByDefault,
  });
  const trustedProxies = values.proxies();
  const webhookHosts = values.webhookHosts();
  const webhookServices = values.services();
  const config: ServeConfig = {
    ...readOptional(values),
    ...credentials,
    ...transport,
    ...readProcesses(values, database.value),
    database: database.value,
    databaseOrigin: database.origin,
    host: host.value,
    port: values.wholeNumber('port', { least: 0, most: 65_535 }) ?? 8700,
    plugins: values.list('plugin').map(({ value, folder }) => resolve(folder, value)),
    hostNames: values.list('host-name').map(({ value }) => value),
    serviceDomain: values.checked('service-domain', checkServiceDomain) ?? 'homeostat.internal',
    auth,
    ...(readAnonymousAuth(values, auth) ? { anonymousAuth: true } : {}),
    adminKubeconfig: join(folderOf(database.value), 'admin.kubeconfig'),
    ...(trustedProxies.length === 0 ? {} : { trustedProxies }),
    ...(webhookHosts.length === 0 ? {} : { webhookHosts }),
    ...(Object.keys(webhookServices).length === 0 ? {} : { webhookServices }),
    retention: readRetention(values),
    logLevel: values.logLevel() ?? 'info',
    hints: values.isOn('hints'),
    console: values.switch('console') ?? true,
    strict: values.isOn('strict'),
  };
  if (values.problems.length > 0) throw new ConfigError(values.problems.join('\n'));
  return config;
}

type ProcessNumbers = Pick<ServeConfig, 'processes' | 'hasWorkers'>;

/**
 * Reads the number of processes or workers. Each process of `--processes` opens the database itself; workers use the
 * database through the process that starts them. Several processes cannot write one audit log, so more than one
 * process or worker is refused together with `--audit-log`.
 */
function readProcesses(values: ConfigValues, database: string): ProcessNumbers {
  const processes = values.processes();
  const workers = values.workers();
  if (processes !== undefined && workers !== undefined)
    values.refuse(workers, 'is for SQLite, and --processes is for other databases: leave one of them out');
  if (workers !== undefined && workers.count > 1) return readWorkers(values, { database, workers });
  if (processes === undefined || processes.count === 1) return { processes: 1, hasWorkers: false };
  if (/^memory:/i.test(database))
    values.refuse(
      processes,
      'a database in memory exists only in one process: choose PostgreSQL, MySQL or etcd with --database',
    );
  else if (/^sqlite:/i.test(database))
    values.refuse(
      processes,
      'only one process can open a SQLite file, because a second one would not see the changes of the first: use --workers instead, or choose PostgreSQL, MySQL or etcd with --database',
    );
  if (values.text('audit-log') !== undefined)
    values.refuse(
      processes,
      'only one process can write an audit log: leave out --audit-log, or, instead of --processes, start several servers behind a proxy, each with its own --audit-log',
    );
  return { processes: processes.count, hasWorkers: false };
}

function readWorkers(
  values: ConfigValues,
  { database, workers }: { readonly database: string; readonly workers: Given & { readonly count: number } },
): ProcessNumbers {
  if (/^memory:/i.test(database))
    values.refuse(workers, 'workers need a database in a file: choose --database sqlite:<file>, or omit --database');
  else if (!/^sqlite:/i.test(database))
    values.refuse(workers, 'is for SQLite: with this --database, use --processes instead');
  if (values.text('audit-log') !== undefined)
    values.refuse(workers, 'only one process can write an audit log: leave out --audit-log, or use one worker');
  return { processes: workers.count, hasWorkers: true };
}

/** Reads the options of TLS. Refuses plain HTTP on addresses other than loopback, unless `--insecure` allows it. */
function readTransport(
  values: ConfigValues,
  { host, database }: { readonly host: Given & { readonly value: string }; readonly database: string },
): Pick<ServeConfig, 'insecure' | 'tls'> {
  const insecure = values.isOn('insecure');
  const tls = readTls(values, database);
  if (tls === undefined && !insecure && !loopback.includes(host.value)) {
    values.refuse(
      host,
      `"${host.value}" is not 127.0.0.1, ::1 or localhost: add --tls, or --insecure to listen without encryption`,
    );
  }
  return { insecure, ...(tls === undefined ? {} : { tls }) };
}

type Credentials = Pick<ServeConfig, 'token' | 'tokenFile' | 'authenticationConfig' | 'clientCa'>;

/** Reads the options by which users authenticate, besides the administrator's kubeconfig. */
function readCredentials(values: ConfigValues, tls: TlsOptions | undefined): Credentials {
  return present({
    token: values.checked('token', checkToken),
    tokenFile: values.path('token-file'),
    authenticationConfig: values.path('authentication-config'),
    clientCa: readClientCa(values, tls),
  });
}

/** Reads the options without a default here: the server works without them, or has its own defaults. */
function readOptional(values: ConfigValues): Partial<ServeConfig> {
  return present({
    pluginsDir: values.path('plugins-dir'),
    encryptionConfig: values.path('encryption-config'),
    serviceAccountIssuer: values.checked('service-account-issuer', checkIssuer),
    eventTtlMs: values.durationMs('event-ttl'),
    audit: readAudit(values),
    maxWatchesPerUser: values.wholeNumber('max-watches-per-user', userLimit),
    maxUnknownConnectionsPerAddress: values.wholeNumber('max-unknown-connections-per-address', userLimit),
    leaderElection: values.switch('leader-elect'),
    reportRuns: values.switch('report-runs'),
    logFormat: values.logFormat(),
  });
}

const auditOptions: readonly ServeOptionName[] = [
  'audit-policy',
  'audit-log-max-size',
  'audit-log-max-age',
  'audit-log-max-backups',
  'audit-required',
];

/**
 * Reads the options of the audit log. Refuses them without `--audit-log`: no entry would be written, and no message
 * would say so.
 */
function readAudit(values: ConfigValues): AuditOptions | undefined {
  const logFile = values.path('audit-log');
  const policyFile = values.path('audit-policy');
  const mebibytes = values.wholeNumber('audit-log-max-size', { least: 1, most: 102_400 });
  const days = values.wholeNumber('audit-log-max-age', { least: 1, most: 3650 });
  const maxBackups = values.wholeNumber('audit-log-max-backups', { least: 0, most: 10_000 });
  const required = values.isOn('audit-required');
  if (logFile === undefined) {
    for (const option of auditOptions) values.needs(option, 'audit-log');
    return undefined;
  }
  return {
    logFile,
    ...(policyFile === undefined ? {} : { policyFile }),
    ...(mebibytes === undefined ? {} : { maxBytes: mebibytes * 1024 * 1024 }),
    ...(days === undefined ? {} : { maxAgeMs: days * 86_400_000 }),
    ...(maxBackups === undefined ? {} : { maxBackups }),
    required,
  };
}

/**
 * Reads the limits of the history. Their maximum is a week, ten million changes and 16 GiB, because the history is in
 * memory.
 */
function readRetention(values: ConfigValues): Partial<Retention> {
  const seconds = values.wholeNumber('history-seconds', { least: 1, most: 604_800 });
  const minChanges = values.wholeNumber('history-changes', { least: 1, most: 10_000_000 });
  const mebibytes = values.wholeNumber('history-mib', { least: 1, most: 16_384 });
  return {
    ...(seconds === undefined ? {} : { minAgeMs: seconds * 1000 }),
    ...(minChanges === undefined ? {} : { minChanges }),
    ...(mebibytes === undefined ? {} : { maxBytes: mebibytes * 1024 * 1024 }),
  };
}

/** Reads the options of TLS. A certificate or a folder turns TLS on, even without `--tls`. */
function readTls(values: ConfigValues, database: string): TlsOptions | undefined {
  const on = values.isOn('tls');
  const cert = values.text('tls-cert');
  const key = values.text('tls-key');
  const folder = values.text('tls-dir');
  if (cert !== undefined && key !== undefined && folder !== undefined) {
    return values.refuse(folder, 'makes the server issue its own certificate, but --tls-cert gives another one');
  }
  if (cert !== undefined && key !== undefined) return { certFile: cert.value, keyFile: key.value };
  if (cert !== undefined) return values.refuse(cert, 'needs its private key: --tls-key');
  if (key !== undefined) return values.refuse(key, 'needs its certificate: --tls-cert');
  if (!on && folder === undefined) return undefined;
  return { directory: folder?.value ?? join(folderOf(database), 'tls') };
}

function readClientCa(values: ConfigValues, tls: TlsOptions | undefined): string | undefined {
  const found = values.text('client-ca');
  if (found !== undefined && tls === undefined) return values.refuse(found, 'needs TLS: add --tls');
  return values.path('client-ca');
}

/**
 * Returns the folder of the database file, or `data` for a database without a file. The server keeps its other files
 * there, so that they are moved together.
 */
function folderOf(database: string): string {
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/i.exec(database)?.[1];
  return file === undefined ? 'data' : dirname(file);
}

interface AuthParts {
  readonly host: string;
  /** True when a token, a token file, an authentication configuration or a client CA is given. */
  readonly hasCredential: boolean;
  readonly isOpenByDefault: boolean | undefined;
}

/**
 * Reads the mode of authentication. Refuses the mode `open` on addresses other than loopback, because this mode accepts
 * every request. Also refuses it together with options for credentials, because it accepts requests without a
 * credential.
 */
function readAuth(values: ConfigValues, { host, hasCredential, isOpenByDefault }: AuthParts): AuthMode {
  const found = values.auth();
  if (found === undefined)
    return isOpenByDefault === true && !hasCredential && loopback.includes(host) ? 'open' : 'required';
  if (found.value === 'open' && !loopback.includes(host)) {
    values.refuse(
      found,
      `"open" accepts every request, so it is for loopback addresses only, not for "${host}": leave out --auth open`,
    );
  } else if (found.value === 'open' && hasCredential) {
    values.refuse(
      found,
      '"open" accepts requests without a credential: leave out --auth open, or the options with credentials',
    );
  }
  return found.value;
}

function readAnonymousAuth(values: ConfigValues, auth: AuthMode): boolean {
  if (auth === 'open') values.needs('anonymous-auth', 'auth required');
  return values.isOn('anonymous-auth');
}

function given(value: string): Given & { readonly value: string } {
  return { value, origin: 'the default', folder: '.' };
}
