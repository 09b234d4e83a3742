import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { execFile } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { servePluginArchives } from '../serve/plugin-archives.ts';
import { pluginsDirPage } from '../serve/plugins-dir.ts';
import { runCommand } from './run-command.fixture.ts';
import type { Finished } from './run-command.fixture.ts';

const script = fileURLToPath(new URL('../../bin/homeostat.js', import.meta.url));
const token = 'correct-horse-battery-staple';

export interface CommandOptions {
  /** Environment variables, in addition to PATH and the server's address. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server with a folder of plugins, and the command line that manages them. */
export class PluginServer {
  readonly server: ApiServer;
  readonly pluginsDir: string;
  host: PluginHost;

  private constructor(server: ApiServer, pluginsDir: string) {
    this.server = server;
    this.pluginsDir = pluginsDir;
    this.host = new PluginHost({ server, pluginsDir });
  }

  static async start(): Promise<PluginServer> {
    const pluginsDir = join(await makeFolder({}), 'plugins');
    await mkdir(pluginsDir);
    const server = await startApiServer({ database: 'memory:', port: 0, token });
    server.addDebugPage(pluginsDirPage(pluginsDir));
    servePluginArchives({ server, pluginsDir, isOpen: false, environment: process.env });
    const started = new PluginServer(server, pluginsDir);
    await started.host.start();
    return started;
  }

  async stop(): Promise<void> {
    await this.host.stop();
    await this.server.stop();
  }

  /** Returns the names in the folder of plugins, except `node_modules`, which has links to the packages of the host. */
  async installed(): Promise<readonly string[]> {
    return (await readdir(this.pluginsDir)).filter((name) => name !== 'node_modules');
  }

  /** Returns the paths of the files of an installed plugin. */
  async filesOf(plugin: string): Promise<readonly string[]> {
    const folder = join(this.pluginsDir, plugin);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).sort();
  }

  /** Runs `homeostat plugin …` to its end, in a separate process if it needs another working directory. */
  command(args: readonly string[], { environment = {}, cwd }: CommandOptions = {}): Promise<Finished> {
    const all = ['plugin', ...(args.includes('--server') ? args : [...args, '--server', this.server.url])];
    const env = { HOMEOSTAT_TOKEN: token, HOMEOSTAT_PLUGINS_DIR: this.pluginsDir, ...environment };
    if (cwd === undefined) return runCommand(all, env);
    return new Promise((resolve) => {
      const options = { env: { PATH: process.env['PATH'], ...env }, cwd };
      execFile(process.execPath, [...process.execArgv, script, ...all], options, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  }
}
