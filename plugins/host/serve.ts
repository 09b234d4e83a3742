import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import type { Logger } from '@homeostat/controller-runtime/api';
import { join } from 'node:path';
import { ConfigError, readConfig } from './config.ts';
import type { ConfigSources, ServeConfig } from './config.ts';
import { controllersPage } from './controllers-page.ts';
import { createLogger } from './create-logger.ts';
import type { Development } from './dev/development.ts';
import { errorText } from './error-text.ts';
import { hintsFor } from './hints.ts';
import type { HintOptions } from './hints.ts';
import { LineOutput } from './line-output.ts';
import { PluginHost } from './plugin-host.ts';
import { Shutdown } from './shutdown.ts';

/** Whoever read it may have gone, which is no reason to stop. */
const stderr = new LineOutput(2);

export interface RunServeOptions extends ConfigSources {
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** A plugin that is served besides those of the options, and reloaded when its files change. */
  readonly development?: Development;
}

/** Serves until a signal, and answers the exit code: 0, 1 when it could not start or an exception escaped, 2 for bad values. */
export async function runServe({ exit, development, ...sources }: RunServeOptions): Promise<number> {
  try {
    return await serve(readConfig(sources), { exit, development });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    stderr.write(`${error.message}\n`);
    return 2;
  }
}

interface ServeParts extends Pick<RunServeOptions, 'exit'> {
  readonly development: Development | undefined;
}

async function serve(config: ServeConfig, { exit, development }: ServeParts): Promise<number> {
  const logger = createLogger(config.logLevel);
  let host: PluginHost | undefined;
  const shutdown = new Shutdown({
    logger,
    exit,
    pluginOf: (error) => host?.pluginOf(error),
    crash: (error) => host?.crash(error),
  });
  shutdown.listen();
  try {
    await development?.compile(shutdown.signal);
    const server = await startServer(config, logger);
    const { leaderElection, pluginsDir } = config;
    host = new PluginHost({
      server,
      logger,
      ...(leaderElection === undefined ? {} : { leaderElection }),
      ...(pluginsDir === undefined ? {} : { pluginsDir }),
    });
    await runUntilStopped(config, { server, host, logger, development, signal: shutdown.signal });
    logger.info({}, 'stopped');
    return shutdown.exitCode;
  } catch (err) {
    if (err instanceof ConfigError) throw err;
    logger.error({ err }, 'homeostat could not start');
    stderr.write(`homeostat could not start: ${errorText(err)}\n`);
    return 1;
  } finally {
    shutdown.dispose();
  }
}

async function startServer(config: ServeConfig, logger: Logger): Promise<ApiServer> {
  try {
    return await startApiServer({ ...config, logger });
  } catch (error) {
    // Which URLs there are is the server's knowledge; it answers a RangeError to all others.
    if (error instanceof RangeError) throw new ConfigError(`${config.databaseOrigin}: ${error.message}`);
    throw error;
  }
}

interface Serving {
  readonly server: ApiServer;
  readonly host: PluginHost;
  readonly logger: Logger;
  readonly development: Development | undefined;
  readonly signal: AbortSignal;
}

async function runUntilStopped(config: ServeConfig, serving: Serving): Promise<void> {
  const { server, host, logger, development, signal } = serving;
  server.addReadyCheck({ name: 'plugins', check: () => host.readinessProblem() });
  server.addDebugPage(controllersPage(() => host.managers()));
  logger.info({ url: server.url }, 'listening');
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const developed = development === undefined ? [] : [development.folder];
  for (const folder of [...config.plugins, ...developed]) await host.addFolder(folder);
  await host.addInstalled();
  await Promise.race([host.start(), stopped]);
  if (!signal.aborted) {
    logger.info({ url: server.url, plugins: host.statuses() }, 'ready');
    if (config.hints) stderr.write(hintsFor(server, hintOptions(config)));
  }
  const followed = development?.run(serving, signal);
  await stopped;
  await followed;
  await stop(server, host);
}

function hintOptions({ token, tls }: ServeConfig): HintOptions {
  const caFile = tls !== undefined && 'directory' in tls ? join(tls.directory, 'ca.crt') : undefined;
  return { token: token !== undefined, caFile };
}

/** Requests are refused first; the database closes last, since reconcilers that end may still write. */
async function stop(server: ApiServer, host: PluginHost): Promise<void> {
  await server.drain();
  await host.stop();
  await server.stop();
}
