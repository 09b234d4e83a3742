import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer, ApiServerOptions } from '@homeostat/apiserver';
import { createClient } from '@homeostat/controller-runtime';
import type { Client, ControllerDefinition } from '@homeostat/controller-runtime';
import type { Model } from '@homeostat/controller-runtime/api';
import { errorLogger, settle } from '@homeostat/controller-runtime/testing';
import type { SettleOptions } from '@homeostat/controller-runtime/testing';
import { pluginHostOptions } from '../lifecycle/awaited-kinds.ts';
import { controllersPage } from '../lifecycle/controllers-page.ts';
import { extensionsPage } from '../lifecycle/extensions-page.ts';
import { serverReporter } from '../lifecycle/server-reporter.ts';
import { PluginHost } from '../host/plugin-host.ts';
import type { PluginHostOptions, PluginStatus } from '../host/plugin-host.ts';
import { pluginSource } from '../package/plugin-source.ts';
import type { Plugin } from '../sdk/plugin.ts';
import { present } from '../text/present.ts';

/**
 * The options of the API server, with three other defaults: `database` is `memory:`, `port` is a free port, and
 * `logger` prints errors to stderr, such as those of reconcilers. (`silentLogger` prints nothing.)
 */
export interface TestServerOptions extends ApiServerOptions {
  /**
   * The plugins to run: values, or paths of folders. A plugin without a folder has the name `plugin-<n>`; n is its
   * place in the list, from 1.
   */
  readonly plugins?: readonly (Plugin | string)[];
  /** The models of a further plugin, which has the name `test`. */
  readonly models?: readonly Model[];
  /** The controllers of the plugin `test`. */
  readonly controllers?: readonly ControllerDefinition[];
  /**
   * True to run controllers in only one of the servers that share a database, false to run them in each. Default: true
   * if the database can be shared.
   */
  readonly leaderElection?: PluginHostOptions['leaderElection'];
  /**
   * True to record the work of controllers in objects of the kinds Run and Controller, as `homeostat serve` does.
   * Default false.
   */
  readonly reportRuns?: boolean;
}

export interface TestServer {
  readonly url: string;
  /** A client that calls the server inside this process, without HTTP. */
  readonly client: Client;
  /** A client over HTTP or HTTPS, with the token and the certificate authority of the server. */
  readonly httpClient: Client;
  readonly server: ApiServer;
  /** Returns the status of each plugin. */
  plugins(): readonly PluginStatus[];
  /**
   * Resolves when controllers and garbage collection have no work; delayed keys do not count. Rejects after a timeout
   * (default 5000 ms of real time) with an error that names the busy parts.
   */
  settle(options?: SettleOptions): Promise<void>;
  /** Stops the plugins and the server. Resolves when all have stopped. */
  stop(): Promise<void>;
}

/**
 * Starts a real server on a free port, with garbage collection, that runs plugins, models and controllers. Rejects when
 * one of them cannot start; then nothing keeps running.
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { plugins: _p, models: _m, controllers: _c, leaderElection, reportRuns, ...rest } = options;
  const { clock, logger = errorLogger, token } = options;
  const made: { host?: PluginHost } = {};
  const own = { database: 'memory:', port: 0, ...pluginHostOptions(() => made.host) };
  const server = await startApiServer({ ...own, ...rest, logger });
  const reporter = reportRuns === true ? serverReporter(server, { logger, ...present({ clock }) }) : undefined;
  const host = new PluginHost({ server, logger, ...present({ clock, leaderElection, reporter }) });
  made.host = host;
  server.addDebugPage(controllersPage(() => host.managers()));
  server.addDebugPage(extensionsPage(() => host.extensionPoints()));
  const stop = async (): Promise<void> => {
    await host.stop();
    await reporter?.close();
    await server.stop();
  };
  await addAll(host, options);
  await host.start();
  const failed = host.statuses().filter(({ phase }) => phase === 'Failed');
  if (failed.length > 0) {
    await stop();
    throw new Error(failed.map(({ name, reason }) => `plugin "${name}" failed: ${reason}`).join('\n'));
  }
  const participants = [
    { name: 'server', isIdle: () => server.isIdle() },
    { name: 'plugins', isIdle: () => host.isIdle() },
  ];
  return {
    url: server.url,
    client: server.client,
    httpClient: createClient(server.url, present({ clock, token, ca: server.ca })),
    server,
    plugins: () => host.statuses(),
    settle: (settleOptions) => settle(participants, settleOptions),
    stop,
  };
}

async function addAll(
  host: PluginHost,
  { plugins = [], models = [], controllers = [] }: TestServerOptions,
): Promise<void> {
  for (const [index, plugin] of plugins.entries()) {
    if (typeof plugin === 'string') await host.addFolder(plugin);
    else host.add(pluginSource(`plugin-${index + 1}`, plugin));
  }
  if (models.length + controllers.length > 0) host.add(pluginSource('test', { models, controllers }));
}
