import { checkAllowedHosts, checkProxy, checkServiceOrigin } from '@homeostat/apiserver/command-line';
import type { AuthMode } from '@homeostat/apiserver';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { environmentName, serveOptions } from './serve-options.ts';
import type { ServeOptionName } from './serve-options.ts';
import { holdsSecret, secretFileProblem } from '../text/secret-file.ts';
import { parseYamlMapping } from '../text/yaml-mapping.ts';

export type LogLevel = (typeof logLevels)[number];
export type LogFormat = (typeof logFormats)[number];

const authModes = ['required', 'open'] as const;
const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const logFormats = ['json', 'pretty'] as const;
const unitsMs: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);
/** The maximum number of processes. Each process has all objects in memory, and applies every write. */
const maxProcesses = 64;
/** The maximum number of workers for each core. More workers would not increase the throughput. */
const maxWorkersPerCore = 4;
/** The number of cores that the process with the open database uses, including its database thread. */
const coresOfOwner = 2;
const maxDurationMs = 365 * 24 * 3_600_000;

export interface ConfigSources {
  /** The flags of the command line, by option name. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** True when the mode `open` is the default on loopback addresses, if no credentials are configured. */
  readonly isOpenByDefault?: boolean;
}

/** A value, its source, and the base folder of its relative paths. */
export interface Given {
  readonly value: unknown;
  readonly origin: string;
  readonly folder: string;
}

/** Looks up the values of options, checks them, and collects their problems. */
export class ConfigValues {
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

  /** Refuses `option` if it is given and not `false`. Called when `other`, which `option` depends on, is missing. */
  needs(option: ServeOptionName, other: ServeOptionName | 'auth required'): void {
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

  /** Returns an absolute path. A relative path in the configuration file starts at the folder of that file. */
  path(option: ServeOptionName): string | undefined {
    const found = this.text(option);
    return found === undefined ? undefined : resolve(found.folder, found.value);
  }

  isOn(option: ServeOptionName): boolean {
    return this.switch(option) ?? false;
  }

  /** Returns a switch as a boolean. The value may also be the text `true` or `false`, as in the environment. */
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

  /** Returns the number of processes; `auto` is one process for each core. */
  processes(): (Given & { readonly count: number }) | undefined {
    const found = this.#find('processes');
    if (found === undefined) return undefined;
    const { value } = found;
    if (value === 'auto') return { ...found, count: Math.min(maxProcesses, availableParallelism()) };
    const count = /^\d{1,3}$/.test(String(value)) ? Number(value) : 0;
    if (count >= 1 && count <= maxProcesses) return { ...found, count };
    return this.refuse(found, `must be auto or a whole number from 1 to ${maxProcesses}, not ${JSON.stringify(value)}`);
  }

  /**
   * Returns the number of workers. `auto` is two fewer than the machine has cores, but at least one: the process that
   * has the database uses two cores.
   */
  workers(): (Given & { readonly count: number }) | undefined {
    const found = this.#find('workers');
    if (found === undefined) return undefined;
    const { value } = found;
    const cores = availableParallelism();
    if (value === 'auto') return { ...found, count: Math.min(maxProcesses, Math.max(1, cores - coresOfOwner)) };
    const most = Math.min(maxProcesses, maxWorkersPerCore * cores);
    const count = /^\d{1,3}$/.test(String(value)) ? Number(value) : 0;
    if (count >= 1 && count <= most) return { ...found, count };
    return this.refuse(
      found,
      `must be auto or a whole number from 1 to ${most}, at most ${maxWorkersPerCore} for each core, not ${JSON.stringify(value)}`,
    );
  }

  /** Returns the milliseconds of a time such as `90s`, `30m` or `24h`, from a second to a year. */
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

  /**
   * Returns the text of an option; undefined when the option is not set. Records a problem and returns undefined if
   * `check` finds a problem in the text.
   */
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

  /** Returns the addresses of services, by `<namespace>/<name>`. */
  services(): Readonly<Record<string, string>> {
    const services = new Map<string, string>();
    for (const each of this.list('service-map')) {
      const [service = '', ...rest] = each.value.split('=');
      const origin = rest.join('=');
      for (const problem of checkServiceOrigin(service, origin)) this.refuse(each, problem);
      if (services.has(service)) this.refuse(each, `the service ${service} has two addresses`);
      services.set(service, origin);
    }
    return Object.fromEntries(services);
  }

  /** Returns the hosts of webhooks that the server may call. */
  webhookHosts(): readonly string[] {
    const found = this.list('webhook-allow');
    for (const each of found) for (const problem of checkAllowedHosts([each.value])) this.refuse(each, problem);
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

  logFormat(): LogFormat | undefined {
    const found = this.text('log-format');
    if (found === undefined) return undefined;
    const format = logFormats.find((each) => each === found.value);
    return format ?? this.refuse(found, `must be one of ${logFormats.join(', ')}, not "${found.value}"`);
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

/**
 * Returns the message of an error without quoted text, and without its cause. The file may contain the token, and
 * errors of the YAML parser quote parts of the file.
 */
function withoutQuotes(error: unknown): string {
  return error instanceof Error ? error.message.replace(/"[^"]*"/g, '"…"') : String(error);
}
