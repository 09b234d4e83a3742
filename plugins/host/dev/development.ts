import type { ApiServer } from '@homeostat/apiserver';
import { systemClock } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';
import { errorText, errorTextWithPlace } from '../text/error-text.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { findMain, openPluginFolder } from '../package/plugin-folder.ts';
import type { PluginHost } from '../host/plugin-host.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import { compilerOf } from './compiler.ts';
import type { Compile } from './compiler.ts';
import { describeKinds, kindsOf } from './describe-kinds.ts';
import type { Kinds } from './describe-kinds.ts';
import { FolderWatcher } from './folder-watcher.ts';
import { tryStoredObjects } from './stored-objects.ts';
import { tryPlugin } from './try-plugin.ts';
import { watchedFiles } from './watched-files.ts';

/** The server that serves the plugin. */
export interface Serving {
  readonly server: Pick<ApiServer, 'schemeManager' | 'client'>;
  readonly host: Pick<PluginHost, 'reload' | 'statuses'>;
}

export interface DevelopmentParts {
  /** Prints a line for people. */
  readonly print: (line: string) => void;
  /** Default: the real time. */
  readonly clock?: Clock;
}

interface Parts extends Pick<DevelopmentParts, 'print'> {
  readonly folder: string;
  /** The manifest at the start of `homeostat dev`. */
  readonly manifest: PluginManifest;
  readonly compile: Compile | undefined;
  readonly watcher: FolderWatcher;
}

/** A change of one of these files recompiles the plugin; a change of a YAML file needs no compilation. */
const source = /\.(?:[cm]?tsx?|json)$/;

/**
 * A plugin in development: compiles it, and reloads it when one of its files changes. Call `open`, `compileFirst` and
 * `run` in this order, once each.
 */
export class Development {
  readonly #parts: Parts;
  /** The kinds of the plugin's last version that started. */
  #kinds: Kinds = new Map();

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Opens a plugin's folder; `run` then handles every change since this call. Rejects with an Error that says why the
   * folder is not a plugin, or cannot be compiled.
   */
  static async open(path: string, { print, clock = systemClock }: DevelopmentParts): Promise<Development> {
    const { folder, manifest } = await openPluginFolder(path);
    const compile = compilerOf(folder);
    const wants = watchedFiles({ main: manifest.main, isCompiled: compile !== undefined });
    const watcher = await FolderWatcher.start({ folder, wants, clock });
    return new Development({ folder, manifest, compile, watcher, print });
  }

  /** The real path of the folder, with all links resolved. */
  get folder(): string {
    return this.#parts.folder;
  }

  /**
   * Compiles the plugin before it is served the first time. If there are errors, the output of an earlier build is
   * served, and a line reports that. Never rejects.
   */
  async compileFirst(signal: AbortSignal): Promise<void> {
    const { folder, manifest, print } = this.#parts;
    if ((await this.#compile(signal)) || signal.aborted) return;
    const isBuilt = await findMain(folder, manifest).then(
      () => true,
      () => false,
    );
    print(
      isBuilt
        ? `there are errors: ${manifest.main} of an earlier build is served until the errors are corrected`
        : 'there are errors, and no earlier build: the plugin is served once the errors are corrected',
    );
  }

  /** Resolves with true when the plugin is compiled, or need not be. Never rejects. */
  async #compile(signal: AbortSignal): Promise<boolean> {
    const { compile, print } = this.#parts;
    try {
      return compile === undefined || (await compile(signal));
    } catch (error) {
      print(`the compiler could not be run: ${errorText(error)}`);
      return false;
    }
  }

  /**
   * Reloads the plugin after each change of the folder, until the signal aborts or the folder can no longer be read.
   * Never rejects, but prints errors. The last version keeps running unless the new version passes {@link tryPlugin}.
   */
  async run(serving: Serving, signal: AbortSignal): Promise<void> {
    const { folder, print } = this.#parts;
    const { name } = this.#parts.manifest;
    this.#kinds = kindsOf(serving.server.schemeManager.list(), name);
    print(`${statusOf(serving, name)}; waiting for changes in ${folder}`);
    try {
      for (;;) {
        const changed = await this.#parts.watcher.next(signal);
        if (changed === undefined) return;
        await this.#onChange(changed, serving, signal);
      }
    } catch (error) {
      print(`the plugin's files are no longer watched for changes: ${errorText(error)}`);
    }
  }

  async #onChange(changed: readonly string[], serving: Serving, signal: AbortSignal): Promise<void> {
    const { print } = this.#parts;
    print(`changed: ${changed.slice(0, 5).join(', ')}${changed.length > 5 ? ', …' : ''}`);
    if (changed.some((path) => source.test(path)) && !(await this.#compile(signal))) {
      if (!signal.aborted) print('there are errors: nothing is reloaded');
      return;
    }
    if (signal.aborted) return;
    try {
      const opened = await this.#open();
      await tryPlugin(opened, { server: serving.server, signal });
      await serving.host.reload(opened);
      await this.#tell(serving);
    } catch (error) {
      print(`not reloaded: ${errorTextWithPlace(error, this.#parts.folder)}`);
    }
  }

  /** Opens the plugin from its current files. */
  async #open(): Promise<PluginSource> {
    const { folder, manifest } = this.#parts;
    const { name } = manifest;
    const opened = await openPluginFolder(folder);
    if (opened.manifest.name !== name)
      throw new Error(`plugin.yaml: name: is "${opened.manifest.name}" now: stop homeostat dev and start it again`);
    return opened;
  }

  async #tell(serving: Serving): Promise<void> {
    const { manifest, print } = this.#parts;
    const { name } = manifest;
    const { schemeManager, client } = serving.server;
    const kinds = kindsOf(schemeManager.list(), name);
    if (isStarted(serving, name)) {
      const lines = await describeKinds(this.#kinds, kinds, async (kind) => tryStoredObjects(client, kind));
      for (const line of lines) print(line);
      this.#kinds = kinds;
    }
    print(statusOf(serving, name));
  }
}

function isStarted({ host }: Serving, plugin: string): boolean {
  return host.statuses().some(({ name, phase }) => name === plugin && phase === 'Started');
}

function statusOf({ host }: Serving, plugin: string): string {
  const status = host.statuses().find(({ name }) => name === plugin);
  if (status === undefined) return `${plugin} is not loaded`;
  const { version, phase, reason } = status;
  return `${plugin} ${version} is ${phase}${reason === undefined ? '' : `: ${reason}`}`;
}
