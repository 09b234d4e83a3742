import { readAuthority } from '@homeostat/apiserver';
import { dump } from 'js-yaml';
import { rm, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { ConfigError, readConfig } from '../serve/config.ts';
import type { ConfigSources, ServeConfig } from '../serve/config.ts';
import { errorText } from '../text/error-text.ts';

export interface RunKubeconfigOptions extends ConfigSources {
  /** Absent: stdout. */
  readonly output?: string | undefined;
  /** Name of context, cluster and user. */
  readonly name: string;
  /** The server's URL, where it is not what the configuration says. */
  readonly server?: string | undefined;
  /** Replace a file that is there. */
  readonly force: boolean;
}

/** Writes what kubectl and its kin need to reach the server of this configuration. Answers the exit code: 0, 1, or 2 for bad values. */
export async function runKubeconfig(options: RunKubeconfigOptions): Promise<number> {
  try {
    const config = readConfig(options);
    const url = options.server === undefined ? urlOf(config) : parseServer(options.server);
    const ca = url.protocol === 'https:' && config.tls !== undefined ? await readAuthority(config.tls) : undefined;
    await write(formatKubeconfig({ name: options.name, url, ca, token: config.token }), options);
    for (const warning of warningsFor(url, { config, ca })) process.stderr.write(`warning: ${warning}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : messageOf(error)}\n`);
    return error instanceof ConfigError ? 2 : 1;
  }
}

interface Access {
  readonly name: string;
  readonly url: URL;
  readonly ca: string | undefined;
  readonly token: string | undefined;
}

function formatKubeconfig({ name, url, ca, token }: Access): string {
  const cluster = {
    server: url.href.replace(/\/$/, ''),
    ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    // There is nothing to verify; client-node refuses plain HTTP unless it is told so.
    ...(url.protocol === 'http:' ? { 'insecure-skip-tls-verify': true } : {}),
  };
  return dump({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name, user: token === undefined ? {} : { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

/** Where clients on this machine find the server; if it listens on all addresses: by the first of its host names, or at 127.0.0.1. */
function urlOf({ tls, host, hostNames, port }: ServeConfig): URL {
  if (port === 0) {
    throw new ConfigError('port 0 is a free one, which the log of the server names: say --server <url>');
  }
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? (hostNames[0] ?? '127.0.0.1') : host;
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
  // It may hold the token, which must not be written to a file of another user.
  await writeFile(output, text, { mode: 0o600, flag: 'wx' });
}

function warningsFor(
  url: URL,
  { config, ca }: { readonly config: ServeConfig; readonly ca: string | undefined },
): readonly string[] {
  if (url.protocol === 'http:') {
    const consequence = config.token === undefined ? '' : ': this server will refuse it. Use --tls';
    return [`kubectl sends no credentials over plain HTTP${consequence}`];
  }
  if (ca !== undefined) return [];
  return ['no authority is named in it, so clients trust those that their machine knows'];
}

function messageOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  const path = error instanceof Error ? (error as NodeJS.ErrnoException).path : undefined;
  if (code === 'EEXIST') return `${path}: is there already; --force replaces it`;
  if (code === 'ENOENT' && path?.endsWith('.crt') === true) {
    return `${path}: is not there; the server makes it when it starts with --tls for the first time`;
  }
  return `no kubeconfig could be written: ${errorText(error)}`;
}
