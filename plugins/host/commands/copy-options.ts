import { findServer } from '@homeostat/controller-runtime';
import { ConfigError } from '../serve/config-values.ts';
import type { ConfigSources } from '../serve/config-values.ts';
import { environmentName } from '../serve/serve-options.ts';
import type { ServerAddress } from '../remote/request-server.ts';

/** The source of `homeostat export`: a running server, or a database that no process has open. */
export type ExportOrigin = ServerAddress | { readonly database: string };

/**
 * A flag, else the database of the environment. @throws ConfigError unless it is one of both.
 */
export function readExportOrigin({ flags, environment }: ConfigSources): ExportOrigin {
  const server = textOf(flags['server']);
  const database =
    textOf(flags['database']) ?? (server === undefined ? fromEnvironment(environment, 'database') : undefined);
  if (server !== undefined && database !== undefined)
    throw new ConfigError('--server and --database: give only one of them');
  if (server !== undefined) {
    return readServer({ flags, environment });
  }
  if (database === undefined)
    throw new ConfigError(`--server or --database (or ${environmentName('database')}) is needed`);
  return { database };
}

/**
 * The server of a command: `--server`, else the result of `findServer`. The credential of a kubeconfig is only used
 * for that kubeconfig's server.
 */
export function readServer({ flags, environment }: ConfigSources): ServerAddress {
  const named = textOf(flags['server']);
  if (named !== undefined) checkServer(named);
  const { url, ...access } = findServer(environment);
  const isFound = named === undefined || new URL(named).origin === new URL(url).origin;
  const token = textOf(flags['token']) ?? fromEnvironment(environment, 'token');
  return { server: named ?? url, ...(isFound ? access : {}), ...(token === undefined ? {} : { token }) };
}

/** @throws ConfigError when none is given. */
export function readDatabase({ flags, environment }: ConfigSources): string {
  const database = textOf(flags['database']) ?? fromEnvironment(environment, 'database');
  if (database === undefined) throw new ConfigError(`--database (or ${environmentName('database')}) is needed`);
  return database;
}

/** Returns the path of the encryption configuration, if one is given. */
export function readEncryptionConfig({ flags, environment }: ConfigSources): string | undefined {
  return textOf(flags['encryption-config']) ?? fromEnvironment(environment, 'encryption-config');
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
