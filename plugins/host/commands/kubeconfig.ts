import { readAuthority } from '@homeostat/apiserver/command-line';
import { rm, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { readConfig } from '../serve/config.ts';
import { ConfigError } from '../serve/config-error.ts';
import type { ServeConfig } from '../serve/config.ts';
import type { ConfigSources } from '../serve/config-values.ts';
import { AdminKubeconfig } from '../serve/admin-kubeconfig.ts';
import { errorText } from '../text/error-text.ts';
import { formatKubeconfig, reachableName } from '../text/kubeconfig-text.ts';
import type { KubeconfigParts } from '../text/kubeconfig-text.ts';
import { requestAccountToken } from './account-token.ts';
import { issueCertificate } from './client-certificate.ts';
import type { CertificateFlags } from './client-certificate.ts';

export interface RunKubeconfigOptions extends ConfigSources, CertificateFlags {
  /** The file to write. Default: stdout. */
  readonly output?: string | undefined;
  /** The name of the context, the cluster and the user in the kubeconfig. */
  readonly name: string;
  /** The server's URL; undefined when the options of `serve` (file, environment, flags) give the URL. */
  readonly server?: string | undefined;
  /** `<namespace>/<name>`: the kubeconfig gets a token of that service account, which the running server issues. */
  readonly serviceAccount?: string | undefined;
  readonly hours?: string | undefined;
  /** True to replace an existing file. */
  readonly force: boolean;
}

/**
 * Writes a kubeconfig with which kubectl and other clients reach the server of this configuration. Returns the exit
 * code: 0, 1, or 2 for bad values.
 */
export async function runKubeconfig(options: RunKubeconfigOptions): Promise<number> {
  try {
    const config = readConfig(options);
    const url = options.server === undefined ? urlOf(config) : parseServer(options.server);
    const ca = url.protocol === 'https:' && config.tls !== undefined ? await readAuthority(config.tls) : undefined;
    const credential = await credentialOf(options, { config, url, ca });
    await write(formatKubeconfig({ name: options.name, url, ca, ...credential }), options);
    for (const warning of warningsFor(url, { config, ca, ...credential }))
      process.stderr.write(`warning: ${warning}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : messageOf(error)}\n`);
    return error instanceof ConfigError ? 2 : 1;
  }
}

type Credential = Pick<KubeconfigParts, 'token' | 'certificate'>;

/**
 * Returns the credential of the kubeconfig: a certificate, a token of a service account, or the token that
 * {@link tokenOf} returns.
 */
async function credentialOf(
  options: RunKubeconfigOptions,
  { config, url, ca }: { readonly config: ServeConfig; readonly url: URL; readonly ca: string | undefined },
): Promise<Credential> {
  const { user, group, days, serviceAccount, hours } = options;
  if (user !== undefined && serviceAccount !== undefined)
    throw new ConfigError('--user, --service-account: give only one of them');
  if (user === undefined && (group ?? days) !== undefined)
    throw new ConfigError('--group, --days: apply only to a certificate; add --user <name>');
  if (serviceAccount === undefined && hours !== undefined)
    throw new ConfigError('--hours: applies only to a token; add --service-account <namespace>/<name>');
  if (user !== undefined) return { token: undefined, certificate: await issueCertificate(options, config) };
  const token = tokenOf(config);
  if (serviceAccount === undefined) return { token };
  const server = { server: url.href, ...(token === undefined ? {} : { token }), ...(ca === undefined ? {} : { ca }) };
  return { token: await requestAccountToken(server, { account: serviceAccount, hours }) };
}

/**
 * Returns the token of the options, or else the token that the server created at its first start; undefined before that
 * start, and for a server that needs no token.
 */
function tokenOf({ auth, token, adminKubeconfig }: ServeConfig): string | undefined {
  return auth === 'open' ? undefined : (token ?? new AdminKubeconfig(adminKubeconfig).read());
}

/**
 * Returns the address of the server for clients on this machine; if it listens on all addresses, the first of its host
 * names, or 127.0.0.1.
 */
function urlOf({ tls, host, hostNames, port }: ServeConfig): URL {
  if (port === 0) {
    throw new ConfigError("port 0 picks a free port, which only the server's log shows: add --server <url>");
  }
  const name = reachableName(host, hostNames);
  return new URL(`${tls === undefined ? 'http' : 'https'}://${isIPv6(name) ? `[${name}]` : name}:${port}`);
}

function parseServer(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search + url.hash !== '') {
    throw new ConfigError('--server: must be a URL such as https://homeostat.example.com:8700');
  }
  return url;
}

async function write(text: string, { output, force }: RunKubeconfigOptions): Promise<void> {
  if (output === undefined) {
    process.stdout.write(text);
    return;
  }
  if (force) await rm(output, { force: true });
  // The file may contain the token, so no other user may be able to read the file.
  await writeFile(output, text, { mode: 0o600, flag: 'wx' });
}

interface Written extends Credential {
  readonly config: ServeConfig;
  readonly ca: string | undefined;
}

function warningsFor(url: URL, { config, ca, token, certificate }: Written): readonly string[] {
  const isMissing = config.auth === 'required' && (token ?? certificate) === undefined;
  const missing = isMissing
    ? [`the kubeconfig has no token: the server writes ${config.adminKubeconfig} when it starts for the first time`]
    : [];
  if (url.protocol === 'http:') {
    const consequence = config.auth === 'open' ? '' : ', so this server will refuse the requests of kubectl. Use --tls';
    return [...missing, `kubectl sends no credentials over plain HTTP${consequence}`];
  }
  if (ca !== undefined) return missing;
  return [...missing, 'the kubeconfig names no authority, so clients trust the authorities of their machine'];
}

function messageOf(error: unknown): string {
  const { code, path }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  if (code === 'EEXIST') return `${path}: exists already; --force replaces it`;
  if (code === 'ENOENT' && path?.endsWith('.crt') === true) {
    return `${path}: does not exist; the server creates this file at its first start with --tls`;
  }
  return `no kubeconfig could be written: ${errorText(error)}`;
}
