import { findServer } from '@homeostat/controller-runtime';
import type { ServerAddress } from '../remote/request-server.ts';
import { ConfigError } from './config-error.ts';
import type { ConfigSources } from './config-values.ts';
import { environmentName } from './serve-options.ts';

/**
 * Returns the server of a command: that of `--server`, or else the result of `findServer`. The credential of a
 * kubeconfig is used only for the server in the same kubeconfig.
 */
export function readServer({ flags, environment }: ConfigSources): ServerAddress {
  const named = textOf(flags['server']);
  if (named !== undefined) checkServer(named);
  const { url, ...access } = findServer(environment);
  const isFound = named === undefined || new URL(named).origin === new URL(url).origin;
  const token = textOf(flags['token']) ?? textOf(environment[environmentName('token')]);
  return { server: named ?? url, ...(isFound ? access : {}), ...(token === undefined ? {} : { token }) };
}

/** Checks the URL of a server. The error message does not contain the URL, because a password may be in it. */
function checkServer(server: string): void {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  const isServer = /^https?:$/.test(url?.protocol ?? '') && url?.username === '' && url.password === '';
  if (!isServer)
    throw new ConfigError('--server: must be an http: or https: URL without a user, such as http://127.0.0.1:8700');
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
