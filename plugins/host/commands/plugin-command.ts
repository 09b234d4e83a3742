import { createClient, sleep, systemClock } from '@homeostat/controller-runtime';
import type { Client } from '@homeostat/controller-runtime';
import { ignoreNotFound, isNotFound } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ConfigError } from '../serve/config-error.ts';
import type { ConfigSources } from '../serve/config-values.ts';
import { readServer } from '../serve/read-server.ts';
import { withSeconds } from './command-progress.ts';
import { findDeclaredBy } from './declared-by.ts';
import { installPlugin, removePlugin } from '../install/install-plugin.ts';
import { packPlugin } from '../install/pack-plugin.ts';
import { installedPlugins } from '../install/installed-plugins.ts';
import { checkPluginsDir, requireServersFolder } from '../serve/plugins-dir.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import type { PluginObject, PluginObserved } from '../objects/plugin-kind.ts';
import type { PluginPhase } from '../lifecycle/plugin-state.ts';
import { runCopy } from './run-copy.ts';
import { formatTable } from '../text/format-table.ts';
import { environmentName } from '../serve/serve-options.ts';
import { ServerApi } from '../remote/server-api.ts';
import { counted } from '../text/counted.ts';

export type PluginVerb = 'list' | 'enable' | 'disable' | 'reload' | 'install' | 'uninstall';

export interface PluginCommand extends ConfigSources {
  readonly verb: PluginVerb;
  /** The name of a plugin; for `install`, a folder, a file or a package. */
  readonly operand?: string;
}

/** The maximum time to wait for a stop and a start of a plugin together, or for the removal of its objects. */
const waitMs = 65_000;

/** The interval at which the command reads the plugin's state while it waits. */
const pollMs = 100;

/** The largest archive that a server accepts. */
const maxArchiveBytes = 64 * 1024 * 1024;

/** Runs `homeostat plugin <verb>` and returns the exit code: 0, 1 when it failed, 2 for bad values. */
export function runPlugin(command: PluginCommand): Promise<number> {
  return runCopy(`plugin ${command.verb}`, async (signal) => new PluginCommands(command, signal).run());
}

class PluginCommands {
  readonly #command: PluginCommand;
  readonly #operand: string;
  readonly #client: Client;
  readonly #api: ServerApi;
  readonly #kind: ModelDescriptor<PluginObject>;
  readonly #serviceDomain: string;
  /**
   * The absolute path of the folder of plugins. When undefined, the command requests the server to install or
   * uninstall.
   */
  readonly #pluginsDir: string | undefined;
  readonly #signal: AbortSignal;

  constructor(command: PluginCommand, signal: AbortSignal) {
    const address = readServer(command);
    const { server, ...access } = address;
    this.#command = command;
    this.#operand = command.operand ?? '';
    this.#signal = signal;
    this.#client = createClient(server, access);
    this.#api = new ServerApi(address, signal);
    this.#serviceDomain = this.#option('service-domain') ?? 'homeostat.internal';
    this.#kind = pluginKind(this.#serviceDomain);
    this.#pluginsDir = this.#readPluginsDir();
  }

  async run(): Promise<void> {
    const verbs: Readonly<Record<PluginVerb, () => Promise<void>>> = {
      list: async () => this.#list(),
      enable: async () => this.#wish({ enabled: true }, 'Started'),
      disable: async () => this.#wish({ enabled: false }, 'Stopped'),
      reload: async () => this.#wish({ reload: randomUUID() }, 'Started'),
      install: async () => this.#install(),
      uninstall: async () => this.#uninstall(),
    };
    await this.#findServer();
    await verbs[this.#command.verb]();
  }

  /** Checks that the server responds, and that it serves plugins of this service domain. */
  async #findServer(): Promise<void> {
    try {
      await this.#client.list(this.#kind, { limit: 1, signal: this.#signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const asked = `the server has no plugins of the domain "${this.#serviceDomain}"`;
      throw new Error(`${asked}: give the service domain of the server in --service-domain`, { cause: error });
    }
  }

  async #list(): Promise<void> {
    const { items } = await this.#client.list(this.#kind, { sort: 'metadata.name,asc', signal: this.#signal });
    const rows = items.map(({ metadata, spec, status }) => [
      metadata.name,
      spec.version ?? '',
      spec.enabled ? 'yes' : 'no',
      status?.phase ?? '',
      status?.reason ?? '',
    ]);
    process.stdout.write(formatTable([['NAME', 'VERSION', 'ENABLED', 'PHASE', 'REASON'], ...rows]));
  }

  async #wish(spec: object, wanted: PluginPhase): Promise<void> {
    const name = this.#operand;
    try {
      const patched = await this.#client.patch(
        this.#kind,
        name,
        { type: 'merge', patch: { spec } },
        { signal: this.#signal },
      );
      await this.#settledAs(wanted, patched);
    } catch (error) {
      if (isNotFound(error)) throw new Error(`there is no plugin "${name}"`, { cause: error });
      throw error;
    }
  }

  async #install(): Promise<void> {
    if (this.#pluginsDir === undefined) return this.#upload();
    await requireServersFolder(this.#pluginsDir, this.#api);
    const runScripts = this.#command.flags['run-scripts'] === true;
    const { environment } = this.#command;
    const pluginsDir = this.#pluginsDir;
    const { manifest, replaced } = await withSeconds(`installing ${this.#operand}`, () =>
      installPlugin(this.#operand, pluginsDir, { runScripts, environment }),
    );
    const { name } = manifest;
    sayInstalled(manifest, replaced?.version);
    const present = await this.#find(name);
    const wish = { spec: { reload: randomUUID() } };
    const wished =
      present === undefined
        ? await this.#client.create(this.#kind, { metadata: { name }, spec: { enabled: true, ...wish.spec } })
        : await this.#client.patch(this.#kind, name, { type: 'merge', patch: wish }, { signal: this.#signal });
    await this.#settledAs(wished.spec.enabled ? 'Started' : 'Stopped', wished);
  }

  /** Uploads the archive. The server then puts the plugin into its folder of plugins, and loads it. */
  async #upload(): Promise<void> {
    const { environment } = this.#command;
    const { name, version, replaced } = await withSeconds(`installing ${this.#operand}`, async () =>
      this.#api.installPlugin(await readArchive(this.#operand, environment)),
    );
    sayInstalled({ name, version }, replaced);
    const object = await this.#client.get(this.#kind, name, { signal: this.#signal });
    await this.#settledAs(object.spec.enabled ? 'Started' : 'Stopped', object);
  }

  async #uninstall(): Promise<void> {
    const name = this.#operand;
    if (this.#pluginsDir === undefined) {
      if (this.#command.flags['purge'] === true) await this.#purge(await this.#find(name));
      await this.#api.uninstallPlugin(name);
      return say(`uninstalled ${name}`);
    }
    await requireServersFolder(this.#pluginsDir, this.#api);
    const object = await this.#find(name);
    const isInstalled = (await installedPlugins(this.#pluginsDir)).includes(name);
    if (!isInstalled) throw new Error(`there is no plugin "${name}" in ${this.#pluginsDir}`);
    if (this.#command.flags['purge'] === true) await this.#purge(object);
    if (object !== undefined) await this.#wish({ enabled: false }, 'Stopped');
    await removePlugin(name, this.#pluginsDir);
    if (object !== undefined) await this.#client.delete(this.#kind, name, { signal: this.#signal });
    say(`uninstalled ${name}`);
  }

  #find(name: string): Promise<PluginObject | undefined> {
    return this.#client.get(this.#kind, name, { signal: this.#signal }).catch(ignoreNotFound);
  }

  /**
   * Deletes the declared objects that the plugin has created. The plugin must run meanwhile: only then does the server
   * serve the plugin's kinds, and only then do the plugin's controllers remove finalizers from these objects.
   */
  async #purge(object: PluginObject | undefined): Promise<void> {
    const name = this.#operand;
    if (object?.status?.phase !== 'Started') {
      const phase = object?.status?.phase ?? 'unknown to the server';
      const way = object?.spec.enabled === false ? '; enable it first' : '';
      throw new Error(`plugin "${name}" is ${phase}: its objects can only be purged while it is Started${way}`);
    }
    const found = await findDeclaredBy(name, { api: this.#api, serviceDomain: this.#serviceDomain });
    for (const { path, uid } of found) await this.#api.delete(path, uid);
    const left = await this.#untilGone(found.map(({ path }) => path));
    if (left.length > 0) throw new Error(`finalizers keep ${left.join(', ')}; the plugin was not uninstalled`);
    say(`deleted ${counted(found.length, 'declared object')}`);
  }

  async #untilGone(paths: readonly string[]): Promise<readonly string[]> {
    const deadline = performance.now() + waitMs;
    for (let left = paths; ;) {
      const checked = await Promise.all(left.map(async (path) => ((await this.#api.isThere(path)) ? [path] : [])));
      left = checked.flat();
      if (left.length === 0 || performance.now() > deadline) return left;
      await this.#pause();
    }
  }

  /**
   * Resolves when the host has handled the given generation of the object and the plugin has the wanted phase. Rejects
   * when the plugin has another final phase, or does not reach the wanted phase in time.
   */
  async #settledAs(wanted: PluginPhase, { metadata }: PluginObject): Promise<void> {
    const { name, generation } = metadata;
    const deadline = performance.now() + waitMs;
    let status: PluginObserved | undefined;
    do {
      const object = await this.#client.get(this.#kind, name, { signal: this.#signal });
      ({ status } = object);
      const observed = status?.conditions?.find(({ type }) => type === 'Ready')?.observedGeneration ?? 0;
      if (observed >= generation && status?.phase === wanted) return say(`${name} is ${wanted}`);
      if (observed >= generation && hasSettled(object)) break;
      await this.#pause();
    } while (performance.now() < deadline);
    const why = status?.message === undefined ? '' : `: ${status.message}`;
    throw new Error(`plugin "${name}" is ${status?.phase ?? 'not handled yet'}${why}`);
  }

  async #pause(): Promise<void> {
    await sleep(systemClock, pollMs, this.#signal);
    this.#signal.throwIfAborted();
  }

  #readPluginsDir(): string | undefined {
    const { verb, flags } = this.#command;
    const folder = this.#option('plugins-dir');
    if (folder === undefined || (verb !== 'install' && verb !== 'uninstall')) {
      if (flags['run-scripts'] === true)
        throw new ConfigError(
          "--run-scripts: a server runs no scripts of an uploaded plugin: use --plugins-dir on the server's machine",
        );
      return undefined;
    }
    checkPluginsDir(resolve(folder));
    return resolve(folder);
  }

  #option(name: 'plugins-dir' | 'service-domain'): string | undefined {
    const given = this.#command.flags[name] ?? this.#command.environment[environmentName(name)];
    return typeof given === 'string' && given !== '' ? given : undefined;
  }
}

/** True when the phase is final. For an enabled plugin that is present, Stopped is temporary: it is being reloaded. */
function hasSettled({ spec, status }: PluginObject): boolean {
  if (status?.phase === 'Stopped') return !spec.enabled || status.reason === 'NotInstalled';
  return status?.phase === 'Failed' || (status?.phase === 'Started' && spec.enabled);
}

function sayInstalled({ name, version }: { readonly name: string; readonly version: string }, former?: string): void {
  say(`installed ${name} ${version}${former === undefined ? '' : `, in place of ${former}`}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Returns the archive to upload: a file unchanged; a folder, or a package of npm's registry, in packed form. Rejects
 * for any other source; the message says what to do.
 */
async function readArchive(source: string, environment: Readonly<Record<string, string | undefined>>): Promise<Bytes> {
  const read = async (path: string): Promise<Bytes> => readBounded(path, source);
  const found = await stat(source).catch(() => undefined);
  return found?.isFile() === true ? read(source) : packPlugin(source, environment, read);
}

async function readBounded(path: string, source: string): Promise<Bytes> {
  const { size } = await stat(path);
  if (size <= maxArchiveBytes) return new Uint8Array(await readFile(path));
  const way = 'make it smaller, or give --plugins-dir on the machine of the server';
  throw new Error(`${source}: is larger than 64 MiB, the maximum that a server accepts: ${way}`);
}
