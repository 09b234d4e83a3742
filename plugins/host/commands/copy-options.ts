import { ConfigError } from '../serve/config-error.ts';
import type { ConfigSources } from '../serve/config-values.ts';
import { environmentName } from '../serve/serve-options.ts';
import { readServer } from '../serve/read-server.ts';
import type { ServerAddress } from '../remote/request-server.ts';

/** The source of `homeostat export`: a running server, or a database that no process has open. */
export type ExportOrigin = ServerAddress | { readonly database: string };

/**
 * Reads `--server` or `--database`, or else the database of the environment. @throws ConfigError when both flags are
 * given, or when neither a server nor a database is named.
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

/** Reads `--database`, or else the database of the environment. @throws ConfigError when neither is given. */
export function readDatabase({ flags, environment }: ConfigSources): string {
  const database = textOf(flags['database']) ?? fromEnvironment(environment, 'database');
  if (database === undefined) throw new ConfigError(`--database (or ${environmentName('database')}) is needed`);
  return database;
}

/** Returns the path of the encryption configuration, if one is given. */
export function readEncryptionConfig({ flags, environment }: ConfigSources): string | undefined {
  return textOf(flags['encryption-config']) ?? fromEnvironment(environment, 'encryption-config');
}

function fromEnvironment(environment: ConfigSources['environment'], option: string): string | undefined {
  return textOf(environment[environmentName(option)]);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
