import { checkProxy, checkServiceDomain, checkToken } from '@homeostat/apiserver';
import type { Retention, TlsOptions } from '@homeostat/apiserver';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { environmentName, serveOptions } from './serve-options.ts';
import type { ServeOptionName } from './serve-options.ts';
import { parseYamlMapping } from '../text/yaml-mapping.ts';

/** How `homeostat serve` runs. */
export interface ServeConfig {
  readonly database: string;
  /** Where the database was named, for messages: `--database`, say. */
  readonly databaseOrigin: string;
  readonly host: string;
  readonly port: number;
  /** Absolute paths. */
  readonly plugins: readonly string[];
  /** Absolute path. Absent: plugins cannot be installed. */
  readonly pluginsDir?: string;
  readonly hostNames: readonly string[];
  readonly serviceDomain: string;
  /** A secret: it stands in no message. Absent: no authentication. */
  readonly token?: string;
  /** Absent: plain HTTP. Paths are as given. */
  readonly tls?: TlsOptions;
  readonly insecure: boolean;
  /** Addresses and networks of proxies whose `X-Forwarded-*` headers are believed. Absent: none. */
  readonly trustedProxies?: readonly string[];
  /** What is absent has the server's default. */
  readonly retention: Partial<Retention>;
  /** Absent: the server's default. */
  readonly eventTtlMs?: number;
  /** Absent: where the database may be shared. */
  readonly leaderElection?: boolean;
  readonly logLevel: LogLevel;
  readonly hints: boolean;
  /** A plugin of `plugins` that fails ends the server. */
  readonly strict: boolean;
}

export type LogLevel = (typeof logLevels)[number];

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const unitsMs: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);
const maxDurationMs = 365 * 24 * 3_600_000;
const loopback: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/** Values that cannot be used; each problem says where its value came from. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export interface ConfigSources {
  /** The flags of the command line, by option name. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A value, where it came from, and the folder that its relative paths are relative to. */
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
      `"${host.value}" is not a loopback address: add --tls, or --insecure to listen there in the clear`,
    );
  }
  const token = values.token();
  const eventTtlMs = values.durationMs('event-ttl');
  const leaderElection = values.switch('leader-elect');
  const pluginsDir = values.path('plugins-dir');
  const trustedProxies = values.proxies();
  const config: ServeConfig = {
    database: database.value,
    databaseOrigin: database.origin,
    host: host.value,
    port: values.wholeNumber('port', { least: 0, most: 65_535 }) ?? 8700,
    plugins: values.list('plugin').map(({ value, folder }) => resolve(folder, value)),
    ...(pluginsDir === undefined ? {} : { pluginsDir }),
    hostNames: values.list('host-name').map(({ value }) => value),
    serviceDomain: values.domain() ?? 'homeostat.internal',
    ...(token === undefined ? {} : { token }),
    ...(tls === undefined ? {} : { tls }),
    insecure,
    ...(trustedProxies.length === 0 ? {} : { trustedProxies }),
    retention: readRetention(values),
    ...(eventTtlMs === undefined ? {} : { eventTtlMs }),
    ...(leaderElection === undefined ? {} : { leaderElection }),
    logLevel: values.logLevel() ?? 'info',
    hints: values.isOn('hints'),
    strict: values.isOn('strict'),
  };
  if (values.problems.length > 0) throw new ConfigError(values.problems.join('\n'));
  return config;
}

/** A week, ten million changes and 16 GiB are the most: all of it is kept in memory. */
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

/** Naming a certificate, or a folder, is asking for TLS. */
function readTls(values: ConfigValues, database: string): TlsOptions | undefined {
  const on = values.isOn('tls');
  const cert = values.text('tls-cert');
  const key = values.text('tls-key');
  const folder = values.text('tls-dir');
  if (cert !== undefined && key !== undefined && folder !== undefined) {
    return values.refuse(folder, 'is the folder of an authority, and there is a certificate already: --tls-cert');
  }
  if (cert !== undefined && key !== undefined) return { certFile: cert.value, keyFile: key.value };
  if (cert !== undefined) return values.refuse(cert, 'needs its private key: --tls-key');
  if (key !== undefined) return values.refuse(key, 'needs its certificate: --tls-cert');
  if (!on && folder === undefined) return undefined;
  return { directory: folder?.value ?? defaultFolder(database) };
}

/** Where the objects are, so that what belongs together is kept, and moved, together. */
function defaultFolder(database: string): string {
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/i.exec(database)?.[1];
  return join(file === undefined ? 'data' : dirname(file), 'tls');
}

function given(value: string): Given & { readonly value: string } {
  return { value, origin: 'the default', folder: '.' };
}

/** Looks values up, judges them, and notes what is wrong with them. */
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

  /** From the environment, and from a flag, everything is a text. */
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

  domain(): string | undefined {
    const found = this.text('service-domain');
    if (found === undefined) return undefined;
    const [problem] = checkServiceDomain(found.value);
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

  token(): string | undefined {
    const found = this.text('token');
    if (found === undefined) return undefined;
    const [problem] = checkToken(found.value);
    return problem === undefined ? found.value : this.refuse(found, problem);
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

/** `scheme://user:password@…` and `…?password=…`. */
const passwords = [/^[^/]*:\/\/[^/@]*:[^/]*@/, /[?&]password=/];

/** A token, or the URL of a database with a password. */
function holdsSecret({ token, database }: Readonly<Record<string, unknown>>): boolean {
  return token !== undefined || (typeof database === 'string' && passwords.some((password) => password.test(database)));
}

/** The file may hold the token, and an error of YAML quotes what it stumbled over; its cause has whole lines. */
function withoutQuotes(error: unknown): string {
  return error instanceof Error ? error.message.replace(/"[^"]*"/g, '"…"') : String(error);
}

/**
 * Returns what is wrong with the mode of a file that holds a secret; undefined when nothing is. Only the owner may have
 * access; the group may read a file that root owns, so that a service can mount a secret.
 */
function secretFileProblem(path: string): string | undefined {
  // Windows has no such modes.
  if (process.platform === 'win32') return undefined;
  const { mode, uid } = statSync(path);
  const forbidden = uid === 0 ? 0o037 : 0o077;
  if ((mode & forbidden) === 0) return undefined;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  return `others than its owner have access to this file, which holds a secret (mode ${octal}): chmod 600 it`;
}
