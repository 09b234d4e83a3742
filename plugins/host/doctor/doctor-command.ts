import { readAuthority } from '@homeostat/apiserver/command-line';
import { readKubeconfig, systemClock } from '@homeostat/controller-runtime';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ServerAddress } from '../remote/request-server.ts';
import { AdminKubeconfig } from '../serve/admin-kubeconfig.ts';
import { ConfigError } from '../serve/config-error.ts';
import { readConfig } from '../serve/config.ts';
import type { ServeConfig } from '../serve/config.ts';
import type { ConfigSources } from '../serve/config-values.ts';
import { readServer } from '../serve/read-server.ts';
import { reachableName } from '../text/kubeconfig-text.ts';
import { findingsOf, formatFindings } from './finding.ts';
import type { Finding } from './finding.ts';
import { judgeDatabase } from './judge-database.ts';
import { judgeClock, judgeDisk, judgePermissions } from './judge-files.ts';
import { judgePlugins } from './judge-plugins.ts';
import { judgePort } from './judge-port.ts';
import { judgeNode } from './judge-runtime.ts';
import { isServing, judgeServer } from './judge-server.ts';
import { judgeTls } from './judge-tls.ts';

/**
 * Judges what `serve` would run with the same options, and the server if it runs. With `--server`, judges only that
 * server, and the version of Node that runs this command. Repairs only one thing: if other users can write to the
 * SQLite file that it opens, it takes their permissions away, as a server does.
 * Prints the findings, and returns the exit code: 0 without errors, 1 with at least one error, 2 for bad options.
 */
export async function runDoctor(sources: ConfigSources): Promise<number> {
  const { output } = sources.flags;
  try {
    const findings = await (sources.flags['server'] === undefined ? judgeMachine(sources) : judgeRemote(sources));
    const text = output === 'json' ? `${JSON.stringify({ findings }, undefined, 2)}\n` : formatFindings(findings);
    process.stdout.write(text);
    return findings.some(({ level }) => level === 'error') ? 1 : 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

async function judgeRemote(sources: ConfigSources): Promise<readonly Finding[]> {
  const { serviceDomain } = readConfig({ ...sources, flags: { ...sources.flags, token: undefined } });
  const nowMs = (): number => systemClock.now();
  const address = readServer(sources);
  return [
    ...(await findingsOf('node', () => judgeNode(process.versions.node, nowMs()))),
    ...(await judgeServer({ address, serviceDomain, nowMs })),
  ];
}

async function judgeMachine(sources: ConfigSources): Promise<readonly Finding[]> {
  const config = readConfig(sources);
  const { database, encryptionConfig, serviceDomain } = config;
  const nowMs = (): number => systemClock.now();
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/i.exec(database)?.[1];
  const findings: Finding[] = [
    ...(await findingsOf('node', () => judgeNode(process.versions.node, nowMs()))),
    ...(await findingsOf('clock', () => judgeClock(file, nowMs()))),
    ...(await findingsOf('kubeconfig', () => judgeKubeconfig(config))),
    ...(await findingsOf('permissions', () => judgePermissions(config, file))),
    ...(await findingsOf('disk', () => judgeDisk(dirname(config.adminKubeconfig)))),
    ...(await findingsOf('tls', () => judgeTls(config, nowMs()))),
    ...(await findingsOf('plugins', () => judgePlugins(config))),
  ];
  const address = await addressOf(config);
  const servedAt = (await isServing(address)) ? address.server : undefined;
  const place = { database, file, servedAt, ...(encryptionConfig === undefined ? {} : { encryptionConfig }) };
  findings.push(...(await findingsOf('port', () => judgePort(config, servedAt))));
  findings.push(...(await findingsOf('database', () => judgeDatabase(place))));
  if (servedAt !== undefined) findings.push(...(await judgeServer({ address, serviceDomain, nowMs })));
  return findings;
}

/** Judges the kubeconfig, with which the administrator reaches the server. */
function judgeKubeconfig({ adminKubeconfig, auth, token }: ServeConfig): readonly Finding[] {
  const check = 'kubeconfig';
  if (auth === 'open' || token !== undefined) return [];
  const found = new AdminKubeconfig(adminKubeconfig).read();
  const state = found === undefined ? 'does not exist yet: the server makes it' : 'has a token';
  return [{ check, level: 'ok', message: `${adminKubeconfig} ${state}` }];
}

/**
 * Returns the address of the server that these options start. If an earlier start of this server has written the
 * administrator's kubeconfig, the port and the CA certificate come from there.
 */
async function addressOf(config: ServeConfig): Promise<ServerAddress> {
  const { host, hostNames, port, tls, token, adminKubeconfig } = config;
  const own = token === undefined ? {} : { token };
  const name = reachableName(host, hostNames);
  const url = `${tls === undefined ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
  const known = knownServer(adminKubeconfig);
  if (known !== undefined && (port === 0 || new URL(known.server).origin === new URL(url).origin))
    return { ...known, ...own };
  const ca = tls === undefined ? undefined : await readAuthority(tls).catch(() => undefined);
  return { server: url, ...own, ...(ca === undefined ? {} : { ca }) };
}

/**
 * Returns the server that the kubeconfig names; undefined if the file does not exist, or cannot be read, which is a
 * finding of its own.
 */
function knownServer(adminKubeconfig: string): ServerAddress | undefined {
  if (!existsSync(adminKubeconfig)) return undefined;
  try {
    const { url, ...access } = readKubeconfig(adminKubeconfig);
    return { server: url, ...access };
  } catch {
    return undefined;
  }
}
