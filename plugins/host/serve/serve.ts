import { SettingsFileError, startApiServer } from '@homeostat/apiserver';
import type { ApiServer, ApiServerOptions } from '@homeostat/apiserver';
import type { Logger } from '@homeostat/controller-runtime/api';
import { systemClock } from '@homeostat/controller-runtime';
import type { Reporter } from '@homeostat/controller-runtime';
import { isIPv6 } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pluginHostOptions } from '../lifecycle/awaited-kinds.ts';
import { serveAuditEntries } from '../audit/audit-entries.ts';
import { AdminKubeconfig } from './admin-kubeconfig.ts';
import { readConfig } from './config.ts';
import { ConfigError } from './config-error.ts';
import type { ServeConfig } from './config.ts';
import type { ConfigSources } from './config-values.ts';
import { controllersPage } from '../lifecycle/controllers-page.ts';
import { extensionsPage } from '../lifecycle/extensions-page.ts';
import { serverReporter } from '../lifecycle/server-reporter.ts';
import { createLog } from './create-logger.ts';
import { bannerOf } from './banner.ts';
import type { PrettyLog } from './pretty-log.ts';
import { reportFailedStart } from './start-cure.ts';
import { hintsFor } from './hints.ts';
import type { HintFacts } from './hints.ts';
import { reachableName } from '../text/kubeconfig-text.ts';
import { stderr } from '../text/line-output.ts';
import { present } from '../text/present.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { checkPluginsDir, pluginsDirPage } from './plugins-dir.ts';
import { servingProcess } from './serving-process.ts';
import type { ServingProcess } from './serving-process.ts';
import { servePluginArchives } from './plugin-archives.ts';
import { ownerDescriptor } from './process-messages.ts';
import { Shutdown } from './shutdown.ts';
import { StrictPlugins } from './strict-plugins.ts';

/** A plugin of `homeostat dev`: it is compiled before the server starts, and reloaded when its files change. */
interface DevelopedPlugin {
  readonly folder: string;
  compileFirst(signal: AbortSignal): Promise<void>;
  run(serving: { readonly server: ApiServer; readonly host: PluginHost }, signal: AbortSignal): Promise<void>;
}

export interface RunServeOptions extends ConfigSources {
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** A plugin in development, which is served in addition to the plugins of the options. */
  readonly development?: DevelopedPlugin;
}

/**
 * Serves requests until a signal, and resolves with the exit code: 1 when the server could not start, when an uncaught
 * exception may have interrupted the host, when a newer version has upgraded the database, when workers cannot use the
 * database any more, or when a plugin of `--plugin` failed and `--strict` is set; 2 when an option has an invalid
 * value; otherwise 0.
 */
export async function runServe({ exit, development, ...sources }: RunServeOptions): Promise<number> {
  // With source maps, an error in a plugin names the line of the source file, not of the compiled file.
  process.setSourceMapsEnabled(true);
  try {
    const config = readConfig(sources);
    const member = servingProcess(systemClock);
    if (config.processes === 1 || member !== undefined) return await serve(config, { exit, development, member });
    if (development !== undefined)
      throw new ConfigError(
        config.hasWorkers
          ? '--workers: homeostat dev runs in one process: leave the option out, or use homeostat serve'
          : '--processes: homeostat dev runs in one process: leave the option out, or use homeostat serve',
      );
    const { serveProcesses } = await import('./serve-processes.ts');
    return await serveProcesses(config, exit);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    stderr.write(`${error.message}\n`);
    return 2;
  }
}

interface ServeParts extends Pick<RunServeOptions, 'exit'> {
  readonly development: DevelopedPlugin | undefined;
  /** The connection of this process to the primary process. Undefined when this process serves alone. */
  readonly member: ServingProcess | undefined;
}

async function serve(config: ServeConfig, { exit, development, member }: ServeParts): Promise<number> {
  if (config.pluginsDir !== undefined) checkPluginsDir(config.pluginsDir);
  const format = config.logFormat ?? (process.stdout.isTTY ? 'pretty' : 'json');
  const fields = member && { process: member.number };
  const { logger, pretty } = createLog(config.logLevel, format, { environment: process.env, ...present({ fields }) });
  let host: PluginHost | undefined;
  let reporter: Reporter | undefined;
  const shutdown = new Shutdown({
    logger,
    exit,
    pluginOf: (error) => host?.pluginOf(error),
    crash: (error) => host?.crash(error),
  });
  shutdown.listen();
  member?.onStop(() => shutdown.stop());
  try {
    await development?.compileFirst(shutdown.signal);
    const shared = member && { ...databaseOf(config), processes: config.processes, gatherMetrics: member.gather };
    const server = await startServer(config, { logger, ...shared, ...pluginHostOptions(() => host) });
    member?.measures(() => server.metrics.text());
    const { leaderElection, pluginsDir } = config;
    if (config.reportRuns !== false) reporter = serverReporter(server, { logger });
    const fail = (): void => {
      member?.fail();
      shutdown.fail();
    };
    void failWhenOutdated(server, { logger, fail });
    const strict = config.strict ? new StrictPlugins({ host: () => host, logger, fail }) : undefined;
    host = new PluginHost({
      server,
      logger,
      ...(strict === undefined ? {} : { onFailed: () => strict.check() }),
      ...(leaderElection === undefined ? {} : { leaderElection }),
      ...(pluginsDir === undefined ? {} : { pluginsDir }),
      ...(reporter === undefined ? {} : { reporter }),
    });
    await runUntilStopped(config, {
      server,
      host,
      reporter,
      logger,
      pretty,
      development,
      strict,
      member,
      signal: shutdown.signal,
    });
    logger.info({}, 'stopped');
    return shutdown.exitCode;
  } catch (err) {
    if (err instanceof ConfigError) throw err;
    reportFailedStart(err, { logger, pretty });
    return 1;
  } finally {
    shutdown.dispose();
  }
}

/**
 * Returns the option `database` for one of several processes that serve at one port. For a worker (`--workers`), the
 * option names the database that the primary process has open. For a process of `--processes`, the result is empty,
 * because such a process opens the configured database itself.
 */
function databaseOf({ database, hasWorkers }: ServeConfig): Pick<ApiServerOptions, 'database'> {
  return hasWorkers ? { database: `${database}?owner=fd:${ownerDescriptor}` } : {};
}

async function startServer(
  config: ServeConfig,
  parts: Partial<ApiServerOptions> & { readonly logger: Logger },
): Promise<ApiServer> {
  const { auth, token, adminKubeconfig } = config;
  if (auth === 'open' || token !== undefined) return listen({ ...config, ...parts }, config);
  const file = new AdminKubeconfig(adminKubeconfig);
  const server = await listen({ ...config, ...parts, administratorFile: file }, config);
  try {
    await file.update({ url: reachableUrl(server.url, config), ca: server.ca });
  } catch (error) {
    await server.stop();
    throw error;
  }
  const kubectl = server.url.startsWith('http:') ? { kubectl: 'needs --tls: sends no token over HTTP' } : {};
  if (file.read() !== undefined) parts.logger.info({ file: file.path, ...kubectl }, "the administrator's kubeconfig");
  return server;
}

function reachableUrl(listening: string, { host, hostNames }: ServeConfig): URL {
  const { protocol, port } = new URL(listening);
  const name = reachableName(host, hostNames);
  return new URL(`${protocol}//${isIPv6(name) ? `[${name}]` : name}:${port}`);
}

async function listen(options: ApiServerOptions, config: ServeConfig): Promise<ApiServer> {
  try {
    return await startApiServer(options);
  } catch (error) {
    if (error instanceof SettingsFileError) throw new ConfigError(error.message);
    // The server throws a RangeError for an invalid database URL.
    if (error instanceof RangeError) throw new ConfigError(`${config.databaseOrigin}: ${error.message}`);
    throw error;
  }
}

async function failWhenOutdated(
  server: ApiServer,
  { logger, fail }: { readonly logger: Logger; readonly fail: () => void },
): Promise<void> {
  const err = await server.outdated;
  logger.error({ err }, 'a newer version has upgraded the database: stopping');
  fail();
}

interface Serving {
  readonly server: ApiServer;
  readonly host: PluginHost;
  readonly reporter: Reporter | undefined;
  readonly logger: Logger;
  readonly pretty: PrettyLog | undefined;
  readonly development: DevelopedPlugin | undefined;
  readonly strict: StrictPlugins | undefined;
  readonly member: ServingProcess | undefined;
  readonly signal: AbortSignal;
}

async function runUntilStopped(config: ServeConfig, serving: Serving): Promise<void> {
  const { server, host, logger, pretty, development, strict, member, signal } = serving;
  server.addDebugPage(controllersPage(() => host.managers()));
  server.addDebugPage(extensionsPage(() => host.extensionPoints()));
  server.addDebugPage(pluginsDirPage(config.pluginsDir));
  serveAuditEntries(server, config.audit?.logFile);
  servePluginArchives({
    server,
    pluginsDir: config.pluginsDir,
    isOpen: config.auth === 'open',
    environment: process.env,
  });
  logger.info({ url: server.url }, 'listening');
  // With the log format `pretty`, the banner already has this warning.
  if (config.auth === 'open' && pretty === undefined)
    logger.warn({}, 'auth is open: every request from this machine may do everything');
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  for (const folder of config.plugins) {
    const name = await host.addFolder(folder);
    strict?.add(name);
  }
  if (development !== undefined) await host.addFolder(development.folder);
  if (config.console) await host.addFolder(consoleFolder());
  await host.addInstalled();
  await Promise.race([host.start(), stopped]);
  if (!signal.aborted) {
    logger.info({ url: server.url, plugins: host.statuses() }, 'ready');
    member?.ready();
    const isFirst = member === undefined || member.number === 1;
    if (isFirst) pretty?.ready(bannerOf(server.url, config));
    if (isFirst && config.hints) stderr.write(hintsFor(server, hintFacts(config)));
  }
  const followed = development?.run(serving, signal);
  await stopped;
  await followed;
  await stop(serving);
}

/** Returns the folder of the console, which is a plugin in its own package. */
function consoleFolder(): string {
  return dirname(fileURLToPath(import.meta.resolve('@homeostat/console/package.json')));
}

function hintFacts({ auth, tls, console }: ServeConfig): HintFacts {
  const caFile = tls !== undefined && 'directory' in tls ? join(tls.directory, 'ca.crt') : undefined;
  return { token: auth === 'required', caFile, hasConsole: console };
}

/**
 * Stops the parts of a server in order. First it refuses requests; last it closes the database, because reconcilers may
 * write until they end.
 */
async function stop({ server, host, reporter }: Serving): Promise<void> {
  await server.drain();
  await host.stop();
  await reporter?.close();
  await server.stop();
}
