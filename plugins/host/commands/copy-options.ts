import { ConfigError } from '../serve/config.ts';
import type { ConfigSources } from '../serve/config.ts';
import { environmentName } from '../serve/serve-options.ts';
import type { ServerAddress } from '../remote/request-server.ts';

/** Where `homeostat export` reads: from a server that runs, or from a database that no process has open. */
export type ExportOrigin = ServerAddress | { readonly database: string };

/**
 * A flag, else what the environment says of the database. @throws ConfigError unless it is one of both.
 */
export function readExportOrigin({ flags, environment }: ConfigSources): ExportOrigin {
  const server = textOf(flags['server']);
  const database =
    textOf(flags['database']) ?? (server === undefined ? fromEnvironment(environment, 'database') : undefined);
  if (server !== undefined && database !== undefined)
    throw new ConfigError('--server and --database: give one of both');
  if (server !== undefined) {
    checkServer(server);
    return { server, token: textOf(flags['token']) ?? fromEnvironment(environment, 'token') };
  }
  if (database === undefined)
    throw new ConfigError(`--server or --database (or ${environmentName('database')}) is needed`);
  return { database };
}

/** The server that a command speaks to; by default the one that `serve` runs by default. */
export function readServer({ flags, environment }: ConfigSources): ServerAddress {
  const server = textOf(flags['server']) ?? 'http://127.0.0.1:8700';
  checkServer(server);
  return { server, token: textOf(flags['token']) ?? fromEnvironment(environment, 'token') };
}

/** @throws ConfigError when none is given. */
export function readDatabase({ flags, environment }: ConfigSources): string {
  const database = textOf(flags['database']) ?? fromEnvironment(environment, 'database');
  if (database === undefined) throw new ConfigError(`--database (or ${environmentName('database')}) is needed`);
  return database;
}

/** The message does not repeat a URL that may hold a password. */
function checkServer(server: string): void {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  const isServer = /^https?:$/.test(url?.protocol ?? '') && url?.username === '' && url.password === '';
  if (!isServer)
    throw new ConfigError('--server: must be an http: or https: URL without a user, such as http://127.0.0.1:8700');
}

function fromEnvironment(environment: ConfigSources['environment'], option: string): string | undefined {
  return textOf(environment[environmentName(option)]);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
