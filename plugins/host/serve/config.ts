import { checkIssuer, checkProxy, checkServiceDomain, checkToken } from '@homeostat/apiserver';
import type { ApiServerOptions, AuditOptions, AuthMode, Retention, TlsOptions } from '@homeostat/apiserver';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { environmentName, serveOptions } from './serve-options.ts';
import type { ServeOptionName } from './serve-options.ts';
import { holdsSecret, secretFileProblem } from '../text/secret-file.ts';
import { present } from '../text/present.ts';
import { parseYamlMapping } from '../text/yaml-mapping.ts';

/** The configuration of `homeostat serve`. */
export interface ServeConfig extends Pick<ApiServerOptions, 'maxWatchesPerUser' | 'maxUnknownConnectionsPerAddress'> {
  readonly database: string;
  /** The option that names the database, for messages: `--database`, say. */
  readonly databaseOrigin: string;
  readonly host: string;
  readonly port: number;
  /** Absolute paths. */
  readonly plugins: readonly string[];
  /** Absolute path. Absent: plugins cannot be installed. */
  readonly pluginsDir?: string;
  readonly hostNames: readonly string[];
  readonly serviceDomain: string;
  readonly auth: AuthMode;
  /** The administrator's token. A secret: no message contains it. Absent: the token of {@link adminKubeconfig}. */
  readonly token?: string;
  /** The file of the administrator's kubeconfig, beside the database. */
  readonly adminKubeconfig: string;
  /** Absolute path. */
  readonly tokenFile?: string;
  /** Absolute path. Absent: the server makes a key. */
  readonly encryptionConfig?: string;
  /** Absolute path. */
  readonly authenticationConfig?: string;
  readonly serviceAccountIssuer?: string;
  readonly clientCa?: string;
  /** Absent: plain HTTP. Paths are as given. */
  readonly tls?: TlsOptions;
  readonly insecure: boolean;
  /** Addresses and networks of proxies whose `X-Forwarded-*` headers are trusted. Absent: none. */
  readonly trustedProxies?: readonly string[];
  /** Absent options have the server's defaults. */
  readonly retention: Partial<Retention>;
  /** Absent: the server's default. */
  readonly eventTtlMs?: number;
  /** Absent: requests are not audited. */
  readonly audit?: AuditOptions;
  /** Absent: true if the database may be shared. */
  readonly leaderElection?: boolean;
  readonly logLevel: LogLevel;
  readonly hints: boolean;
  /** True: a failure of a plugin in `plugins` ends the server. */
  readonly strict: boolean;
}

export type LogLevel = (typeof logLevels)[number];

const authModes = ['required', 'open'] as const;
const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const unitsMs: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);
const userLimit = { least: 1, most: 1_000_000 };
const maxDurationMs = 365 * 24 * 3_600_000;
const loopback: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/** Invalid values; each problem names the source of its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export interface ConfigSources {
  /** The flags of the command line, by option name. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** On loopback addresses, the mode `open` is the default without a token. */
  readonly isOpenByDefault?: boolean;
}

/** A value, its source, and the base folder of its relative paths. */
interface Given {
  readonly value: unknown;
  readonly origin: string;
  readonly folder: string;
}

/**
 * Flag, else environment, else file, else default. Lists in the environment are separated by commas. Folders of
 * plugins in the file are relative to the file, all other paths to the working directory.
 * @throws ConfigError with every problem at once.
 */
export function readConfig(sources: ConfigSources): ServeConfig {
  const values = new ConfigValues(sources);
  const database = values.text('database') ?? given('sqlite:./data/homeostat.db');
  const host = values.text('host') ?? given('127.0.0.1');
  const insecure = values.isOn('insecure');
  const tls = readTls(values, database.value);
  if (tls === undefined && !insecure && !loopback.includes(host.value)) {
    values.refuse(
      host,
      `"${host.value}" is not a loopback address: add --tls, or --insecure to listen without encryption`,
    );
  }
  const token = values.checked('token', checkToken);
  const tokenFile = values.path('token-file');
  const authenticationConfig = values.path('authentication-config');
  const clientCa = readClientCa(values, tls);
  const { isOpenByDefault } = sources;
  const credentials = token ?? tokenFile ?? authenticationConfig ?? clientCa;
  const auth = readAuth(values, { host: host.value, token: credentials, isOpenByDefault });
  const trustedProxies = values.proxies();
  const optional = {
    pluginsDir: values.path('plugins-dir'),
    encryptionConfig: values.path('encryption-config'),
    serviceAccountIssuer: values.checked('service-account-issuer', checkIssuer),
    eventTtlMs: values.durationMs('event-ttl'),
    audit: readAudit(values),
    maxWatchesPerUser: values.wholeNumber('max-watches-per-user', userLimit),
    maxUnknownConnectionsPerAddress: values.wholeNumber('max-unknown-connections-per-address', userLimit),
    leaderElection: values.switch('leader-elect'),
  };
  const config: ServeConfig = {
    ...present({ ...optional, token, tokenFile, authenticationConfig, clientCa, tls }),
    database: database.value,
    databaseOrigin: database.origin,
    host: host.value,
    port: values.wholeNumber('port', { least: 0, most: 65_535 }) ?? 8700,
    plugins: values.list('plugin').map(({ value, folder }) => resolve(folder, value)),
    hostNames: values.list('host-name').map(({ value }) => value),
    serviceDomain: values.checked('service-domain', checkServiceDomain) ?? 'homeostat.internal',
    auth,
    adminKubeconfig: join(folderOf(database.value), 'admin.kubeconfig'),
    insecure,
    ...(trustedProxies.length === 0 ? {} : { trustedProxies }),
    retention: readRetention(values),
    logLevel: values.logLevel() ?? 'info',
    hints: values.isOn('hints'),
    strict: values.isOn('strict'),
  };
  if (values.problems.length > 0) throw new ConfigError(values.problems.join('\n'));
  return config;
}

const auditOptions: readonly ServeOptionName[] = [
  'audit-policy',
  'audit-log-max-size',
  'audit-log-max-age',
  'audit-log-max-backups',
  'audit-required',
];

/** The other options of the audit log need the file: without it, nothing is recorded, and no message would say so. */
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

/** The maximum is a week, ten million changes and 16 GiB, because history is kept in memory. */
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

/** A certificate or a folder requests TLS. */
function readTls(values: ConfigValues, database: string): TlsOptions | undefined {
  const on = values.isOn('tls');
  const cert = values.text('tls-cert');
  const key = values.text('tls-key');
  const folder = values.text('tls-dir');
  if (cert !== undefined && key !== undefined && folder !== undefined) {
    return values.refuse(folder, 'is the folder of an authority, but --tls-cert gives a certificate');
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

/** Returns the folder of the database, so that files that belong together are kept, and moved, together. */
function folderOf(database: string): string {
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/i.exec(database)?.[1];
  return file === undefined ? 'data' : dirname(file);
}

interface AuthParts {
  readonly host: string;
  /** The token, or the file of tokens or of issuers. */
  readonly token: string | undefined;
  readonly isOpenByDefault: boolean | undefined;
}

/** A token asks for credentials, so the mode `open` beside it is a mistake. */
function readAuth(values: ConfigValues, { host, token, isOpenByDefault }: AuthParts): AuthMode {
  const found = values.auth();
  if (found === undefined)
    return isOpenByDefault === true && token === undefined && loopback.includes(host) ? 'open' : 'required';
  if (found.value === 'open' && !loopback.includes(host)) {
    values.refuse(
      found,
      `"open" accepts every request, so it is for loopback addresses only, which "${host}" is not: leave it out`,
    );
  } else if (found.value === 'open' && token !== undefined) {
    values.refuse(found, `"open" accepts requests without the token: leave out "open", or the token`);
  }
  return found.value;
}

function given(value: string): Given & { readonly value: string } {
  return { value, origin: 'the default', folder: '.' };
}

/** Looks up and checks values, and collects their problems. */
class ConfigValues {
  readonly problems: string[] = [];
  readonly #sources: ConfigSources;
  readonly #file: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(sources: ConfigSources) {
    this.#sources = sources;
    const path = this.text('config', {});
    this.#path = path?.value ?? '';
    this.#file = path === undefined ? {} : this.#readFile(path.value, path.origin);
  }

  refuse({ origin }: Given, problem: string): undefined {
    this.problems.push(`${origin}: ${problem}`);
  }

  /** Refuses an option that has no effect without another one. */
  needs(option: ServeOptionName, other: ServeOptionName): void {
    const found = this.#find(option);
    if (found !== undefined && found.value !== false && found.value !== 'false') {
      this.refuse(found, `has no effect without --${other}`);
    }
  }

  text(
    option: ServeOptionName,
    file?: Readonly<Record<string, unknown>>,
  ): (Given & { readonly value: string }) | undefined {
    const found = this.#find(option, file);
    if (found === undefined) return undefined;
    const { value } = found;
    return typeof value === 'string' && value !== '' ? { ...found, value } : this.refuse(found, 'must be a text');
  }

  /** Absolute; in the file, relative to the file. */
  path(option: ServeOptionName): string | undefined {
    const found = this.text(option);
    return found === undefined ? undefined : resolve(found.folder, found.value);
  }

  isOn(option: ServeOptionName): boolean {
    return this.switch(option) ?? false;
  }

  /** Values from the environment and from flags are texts. */
  switch(option: ServeOptionName): boolean | undefined {
    const found = this.#find(option);
    if (found === undefined) return undefined;
    if (found.value === false || found.value === 'false') return false;
    if (found.value === true || found.value === 'true') return true;
    return this.refuse(found, `must be true or false, not ${JSON.stringify(found.value)}`);
  }

  list(option: ServeOptionName): readonly (Given & { readonly value: string })[] {
    const found = this.#find(option);
    if (found === undefined) return [];
    const items = typeof found.value === 'string' ? found.value.split(',') : found.value;
    if (Array.isArray(items) && items.every((item) => typeof item === 'string' && item !== ''))
      return items.map((item: string) => ({ ...found, value: item }));
    this.refuse(found, 'must be a list of texts');
    return [];
  }

  wholeNumber(
    option: ServeOptionName,
    { least, most }: { readonly least: number; readonly most: number },
  ): number | undefined {
    const found = this.#find(option);
    if (found === undefined) return undefined;
    const { value } = found;
    const isDigits = typeof value === 'number' || (typeof value === 'string' && /^\d{1,10}$/.test(value));
    const number = isDigits ? Number(value) : NaN;
    return Number.isInteger(number) && number >= least && number <= most
      ? number
      : this.refuse(found, `must be a whole number from ${least} to ${most}, not ${JSON.stringify(value)}`);
  }

  /** `90s`, `30m` or `24h`: from a second to a year. */
  durationMs(option: ServeOptionName): number | undefined {
    const found = this.text(option);
    if (found === undefined) return undefined;
    const [, count, unit = ''] = /^([1-9]\d{0,8})([smh])$/.exec(found.value) ?? [];
    const ms = Number(count) * (unitsMs.get(unit) ?? NaN);
    return ms <= maxDurationMs
      ? ms
      : this.refuse(
          found,
          `must be a time such as 90s, 30m or 24h, a year at most, not ${JSON.stringify(found.value)}`,
        );
  }

  /** A text that passes the check. */
  checked(option: ServeOptionName, check: (text: string) => readonly string[]): string | undefined {
    const found = this.text(option);
    if (found === undefined) return undefined;
    const [problem] = check(found.value);
    return problem === undefined ? found.value : this.refuse(found, problem);
  }

  proxies(): readonly string[] {
    const found = this.list('trusted-proxy');
    for (const each of found) {
      const problem = checkProxy(each.value);
      if (problem !== undefined) this.refuse(each, problem);
    }
    return found.map(({ value }) => value);
  }

  auth(): (Given & { readonly value: AuthMode }) | undefined {
    const found = this.text('auth');
    if (found === undefined) return undefined;
    const value = authModes.find((each) => each === found.value);
    return value === undefined
      ? this.refuse(found, `must be one of ${authModes.join(', ')}, not ${JSON.stringify(found.value)}`)
      : { ...found, value };
  }

  logLevel(): LogLevel | undefined {
    const found = this.text('log-level');
    if (found === undefined) return undefined;
    const level = logLevels.find((each) => each === found.value);
    return level ?? this.refuse(found, `must be one of ${logLevels.join(', ')}, not "${found.value}"`);
  }

  #find(option: ServeOptionName, file: Readonly<Record<string, unknown>> = this.#file): Given | undefined {
    const flag = this.#sources.flags[option];
    if (flag !== undefined) return { value: flag, origin: `--${option}`, folder: '.' };
    const variable = environmentName(option);
    const fromEnvironment = this.#sources.environment[variable];
    if (fromEnvironment !== undefined) return { value: fromEnvironment, origin: variable, folder: '.' };
    if (!Object.hasOwn(file, option)) return undefined;
    return { value: file[option], origin: `${this.#path}: ${option}`, folder: dirname(this.#path) };
  }

  #readFile(path: string, origin: string): Readonly<Record<string, unknown>> {
    try {
      const file = parseYamlMapping(readFileSync(path, 'utf8'));
      const known = Object.keys(serveOptions).filter((option) => option !== 'config');
      for (const key of Object.keys(file)) {
        if (!known.includes(key))
          this.problems.push(`${path}: ${key}: is not an option; the options are ${known.join(', ')}`);
      }
      const problem = holdsSecret(file) ? secretFileProblem(path) : undefined;
      if (problem !== undefined) this.problems.push(`${origin}: ${path}: ${problem}`);
      return file;
    } catch (error) {
      this.problems.push(`${origin}: ${path}: ${withoutQuotes(error)}`);
      return {};
    }
  }
}

/** The file may hold the token. An error of the YAML parser quotes the wrong text, and its cause has whole lines. */
function withoutQuotes(error: unknown): string {
  return error instanceof Error ? error.message.replace(/"[^"]*"/g, '"…"') : String(error);
}
