import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { basename, resolve } from 'node:path';
import { dependencyProblems } from './dependencies.ts';
import { errorText } from './error-text.ts';
import { hostVersion } from './host-version.ts';
import { checkRequires } from './manifest.ts';
import { openPluginFolder } from './plugin-folder.ts';
import { PluginInstance } from './plugin-instance.ts';
import type { PluginRunParts } from './plugin-run.ts';
import type { PluginSource } from './plugin-source.ts';
import type { PluginPhase } from './plugin-state.ts';

export interface PluginHostOptions {
  readonly server: PluginRunParts['server'];
  /** Default: the real time. */
  readonly clock?: Clock;
  /** Default: silent. */
  readonly logger?: Logger;
}

export interface PluginStatus {
  readonly name: string;
  /** Empty when the manifest could not be read. */
  readonly version: string;
  readonly phase: PluginPhase;
  /** Why it is Failed. */
  readonly reason?: string;
}

/**
 * Runs plugins in dependency order, those that do not depend on each other at the same time. Whatever one of them does,
 * the others and the host go on. Lives once: add, start, stop.
 */
export class PluginHost {
  readonly #parts: PluginRunParts;
  readonly #instances = new Map<string, PluginInstance>();
  /** Those that never became an instance. */
  readonly #refused: PluginStatus[] = [];
  readonly #starts = new Map<string, Promise<void>>();
  readonly #stops = new Map<string, Promise<void>>();
  #started: Promise<void> | undefined;

  constructor(options: PluginHostOptions) {
    const { server, clock = systemClock, logger = silentLogger } = options;
    this.#parts = { server, clock, logger };
  }

  /** Reads a plugin's folder. Never rejects: what cannot be read is Failed, under the name of the folder. */
  async addFolder(path: string): Promise<void> {
    try {
      this.add(await openPluginFolder(path));
    } catch (err) {
      this.#refuse(err, { name: basename(resolve(path)), version: '' });
    }
  }

  /** Adds a plugin. Never throws: one that requires another host, or whose name is taken, is Failed. */
  add(source: PluginSource): void {
    const { manifest } = source;
    try {
      checkRequires(manifest, hostVersion());
      const namesake = this.#instances.get(manifest.name);
      if (namesake !== undefined) throw new Error(`there is a plugin "${manifest.name}" already${from(namesake)}`);
      this.#instances.set(manifest.name, new PluginInstance(source, this.#parts));
    } catch (err) {
      this.#refuse(err, manifest);
    }
  }

  /** Loads and starts all plugins. Resolves when each is Started or Failed; never rejects. */
  start(): Promise<void> {
    this.#started ??= this.#startAll();
    return this.#started;
  }

  /** Stops all plugins, dependents before what they depend on. Never rejects. */
  async stop(): Promise<void> {
    await Promise.all([...this.#instances.keys()].map(async (name) => this.#stop(name)));
    await this.#started;
  }

  /** Every plugin that was added, in that order; those that were refused come last. */
  statuses(): readonly PluginStatus[] {
    const statuses = [...this.#instances.values()].map(({ manifest, state }) => ({
      name: manifest.name,
      version: manifest.version,
      phase: state.phase,
      ...(state.phase === 'Failed' ? { reason: state.reason } : {}),
    }));
    return [...statuses, ...this.#refused];
  }

  /** All plugins are where they stay, and no controller has anything to do; keys that wait for their time do not count. */
  isIdle(): boolean {
    return this.#started !== undefined && [...this.#instances.values()].every((instance) => instance.isIdle());
  }

  /** Why the host is not ready: names the plugins that are neither Started nor Failed yet. undefined when it is. */
  readinessProblem(): string | undefined {
    if (this.#started === undefined) return 'plugins have not been loaded yet';
    const waiting = this.statuses().filter(({ phase }) => phase !== 'Started' && phase !== 'Failed');
    return waiting.length === 0 ? undefined : waiting.map(({ name, phase }) => `${name} is ${phase}`).join(', ');
  }

  /** The plugin whose files an error comes from, as far as its stack tells. */
  pluginOf(error: unknown): string | undefined {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    return [...this.#instances.values()].find(({ folder }) => folder !== undefined && stack.includes(`${folder}/`))
      ?.manifest.name;
  }

  #refuse(err: unknown, { name, version }: { readonly name: string; readonly version: string }): void {
    this.#parts.logger.error({ err, plugin: name }, 'plugin failed');
    this.#refused.push({ name, version, phase: 'Failed', reason: errorText(err) });
  }

  async #startAll(): Promise<void> {
    const instances = [...this.#instances.values()];
    const manifests = new Map(instances.map(({ manifest }) => [manifest.name, manifest]));
    for (const [name, problem] of dependencyProblems(manifests)) this.#instances.get(name)?.fail(new Error(problem));
    // All modules first: who registers a kind first must not depend on whose file was read faster.
    await Promise.all(instances.map(async (instance) => instance.resolve()));
    await Promise.all(instances.map(async ({ manifest }) => this.#start(manifest.name)));
  }

  async #start(name: string): Promise<void> {
    const instance = this.#instances.get(name);
    if (instance === undefined) return;
    const started = this.#starts.get(name) ?? this.#startAfterDependencies(instance);
    this.#starts.set(name, started);
    await started;
  }

  async #startAfterDependencies(instance: PluginInstance): Promise<void> {
    if (instance.state.phase !== 'Resolved') return;
    const { dependencies } = instance.manifest;
    await Promise.all(dependencies.map(async (dependency) => this.#start(dependency.name)));
    const missing = dependencies.find(({ name, optional }) => !optional && this.#phaseOf(name) !== 'Started');
    if (missing === undefined) return instance.start();
    if (instance.state.phase === 'Resolved')
      instance.fail(new Error(`needs plugin "${missing.name}", which is ${this.#phaseOf(missing.name)}`));
  }

  #phaseOf(name: string): PluginPhase | undefined {
    return this.#instances.get(name)?.state.phase;
  }

  async #stop(name: string): Promise<void> {
    const stopped = this.#stops.get(name) ?? this.#stopAfterDependents(name);
    this.#stops.set(name, stopped);
    await stopped;
  }

  async #stopAfterDependents(name: string): Promise<void> {
    const dependents = [...this.#instances.values()].filter(
      ({ manifest, isRunning }) => isRunning && manifest.dependencies.some((each) => each.name === name),
    );
    await Promise.all(dependents.map(async ({ manifest }) => this.#stop(manifest.name)));
    await this.#instances.get(name)?.stop();
  }
}

function from({ folder }: PluginInstance): string {
  return folder === undefined ? '' : `, from ${folder}`;
}
