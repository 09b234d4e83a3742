import { dependencyOrder, dependencyProblems } from './dependencies.ts';
import { EventBus } from './event-bus.ts';
import { ExtensionTable } from './extension-table.ts';
import type { PluginManifest } from './manifest.ts';
import { PluginInstance } from './plugin-instance.ts';
import type { PluginRunParts } from './plugin-run.ts';
import type { PluginSource } from './plugin-source.ts';
import type { PluginPhase } from './plugin-state.ts';

export interface PluginFleetOptions {
  readonly parts: Omit<PluginRunParts, 'extensions' | 'events'>;
  /** Hears of every phase of every plugin, and of the progress of its indexes. Must not throw. */
  readonly onChange: (instance: PluginInstance) => void;
}

/**
 * The plugins of a host and what depends on what. A plugin is an instance a life: one that is Stopped or Failed comes
 * back as a new one. None of the verbs rejects.
 */
export class PluginFleet {
  readonly #options: PluginFleetOptions;
  readonly #parts: PluginRunParts;
  readonly #instances = new Map<string, PluginInstance>();
  readonly #disabled = new Set<string>();
  readonly #starts = new WeakMap<PluginInstance, Promise<void>>();
  readonly #stops = new WeakMap<PluginInstance, Promise<void>>();
  #isStopping = false;

  constructor(options: PluginFleetOptions) {
    this.#options = options;
    const extensions = new ExtensionTable(() => dependencyOrder(this.#manifests()));
    this.#parts = { ...options.parts, extensions, events: new EventBus() };
  }

  /** One a plugin, in the order in which they were added. */
  get instances(): readonly PluginInstance[] {
    return [...this.#instances.values()];
  }

  get(name: string): PluginInstance | undefined {
    return this.#instances.get(name);
  }

  isEnabled(name: string): boolean {
    return !this.#disabled.has(name);
  }

  /** A plugin whose name is not taken. */
  add(source: PluginSource): void {
    this.#create(source);
  }

  /** Starts all but the disabled ones; resolves when each is where it stays. */
  async start(disabled: Iterable<string>): Promise<void> {
    for (const name of disabled) this.#disabled.add(name);
    const instances = this.instances;
    for (const instance of instances) {
      // Of a disabled plugin no code is run, not even the top level of its module.
      if (this.isEnabled(instance.manifest.name)) this.#failWithoutDependencies(instance);
      else await this.#stop(instance);
    }
    // All modules first: who registers a kind first must not depend on whose file was read faster.
    await Promise.all(instances.map(async (instance) => instance.resolve()));
    await Promise.all(instances.map(async (instance) => this.#start(instance)));
  }

  /** Stops all plugins, dependents before what they depend on; none comes back. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.instances.map(async (instance) => this.#stop(instance)));
    await Promise.all(this.instances.map(async (instance) => this.#starts.get(instance)));
  }

  /**
   * Enables or disables a plugin. Resolves when one that is disabled has stopped, with all that depend on it; the start
   * of one that is enabled goes on by itself. A plugin that is Failed stays so until it is disabled, or enabled again.
   */
  async setEnabled(name: string, enabled: boolean): Promise<void> {
    const isNews = this.isEnabled(name) !== enabled;
    if (enabled) this.#disabled.delete(name);
    else this.#disabled.add(name);
    const instance = this.#instances.get(name);
    if (isNews && instance?.state.phase === 'Failed' && !this.#isStopping)
      await this.#stop(this.#create(instance.source));
    await this.#settle(name);
  }

  /** The settings of a plugin have changed: one that failed for those before begins anew. */
  async settingsChanged(name: string): Promise<void> {
    const instance = this.#instances.get(name);
    if (instance === undefined) return;
    await this.#starts.get(instance);
    const { state } = instance;
    const isMistaken = state.phase === 'Failed' && state.failure === 'SettingsInvalid';
    if (!isMistaken || this.#isStopping || !this.isEnabled(name)) return;
    if (this.#instances.get(name) === instance) this.#beginAnew(instance);
  }

  /** Nothing is on its way, and no controller has anything to do. */
  isIdle(): boolean {
    return this.instances.every((instance) => instance.isIdle());
  }

  #create(source: PluginSource): PluginInstance {
    const instance = new PluginInstance(source, this.#parts, (changed) => this.#onChange(changed));
    this.#instances.set(source.manifest.name, instance);
    this.#options.onChange(instance);
    return instance;
  }

  #onChange(instance: PluginInstance): void {
    this.#options.onChange(instance);
    if (instance.state.phase === 'Started') this.#beginWaiting();
  }

  /** Brings a plugin to where it should be. */
  async #settle(name: string): Promise<void> {
    const before = this.#instances.get(name);
    if (before !== undefined) await this.#stops.get(before);
    const instance = this.#instances.get(name);
    if (instance === undefined || this.#isStopping) return;
    const { phase } = instance.state;
    if (this.isEnabled(name)) {
      if (phase === 'Stopped') this.#beginAnew(instance);
      return;
    }
    if (phase !== 'Stopped' && phase !== 'Failed') await this.#disable(instance);
    await this.#forgetFailure(name);
  }

  async #disable(instance: PluginInstance): Promise<void> {
    await this.#stop(instance);
    // Those that stopped with it are wanted: they begin anew, and say what they lack.
    const wanted = this.instances.filter(({ manifest }) => this.isEnabled(manifest.name));
    for (const { manifest, state } of wanted) if (state.phase === 'Stopped') await this.#settle(manifest.name);
  }

  /** It failed before its turn to stop came: what is disabled is Stopped. That its stop failed stays to be seen. */
  async #forgetFailure(name: string): Promise<void> {
    const instance = this.#instances.get(name);
    if (instance?.state.phase !== 'Failed' || instance.state.failure === 'StopFailed') return;
    if (!this.isEnabled(name) && !this.#isStopping) await this.#stop(this.#create(instance.source));
  }

  #beginAnew({ source }: PluginInstance): void {
    const instance = this.#create(source);
    this.#failWithoutDependencies(instance);
    void this.#start(instance);
  }

  /** Those that failed for want of a plugin that is Started now. */
  #beginWaiting(): void {
    for (const instance of this.instances) {
      const { state, manifest } = instance;
      const isWaiting = state.phase === 'Failed' && state.failure === 'DependencyNotStarted';
      if (!isWaiting || this.#isStopping || !this.isEnabled(manifest.name)) continue;
      if (this.#missingDependency(instance) === undefined) this.#beginAnew(instance);
    }
  }

  #manifests(): ReadonlyMap<string, PluginManifest> {
    return new Map(this.instances.map(({ manifest }) => [manifest.name, manifest]));
  }

  #failWithoutDependencies(instance: PluginInstance): void {
    const problem = dependencyProblems(this.#manifests()).get(instance.manifest.name);
    if (problem !== undefined && instance.state.phase === 'Created')
      instance.fail(new Error(problem), 'DependencyMissing');
  }

  async #start(instance: PluginInstance): Promise<void> {
    const started = this.#starts.get(instance) ?? this.#startAfterDependencies(instance);
    this.#starts.set(instance, started);
    await started;
  }

  async #startAfterDependencies(instance: PluginInstance): Promise<void> {
    await instance.resolve();
    if (instance.state.phase !== 'Resolved') return;
    await Promise.all(instance.manifest.dependencies.map(async ({ name }) => this.#startDependency(name)));
    const missing = this.#missingDependency(instance);
    if (missing === undefined) return instance.start();
    if (instance.state.phase === 'Resolved') instance.fail(new Error(missing), 'DependencyNotStarted');
  }

  async #startDependency(name: string): Promise<void> {
    const instance = this.#instances.get(name);
    if (instance !== undefined) await this.#start(instance);
  }

  #missingDependency({ manifest }: PluginInstance): string | undefined {
    const missing = manifest.dependencies.find(({ name, optional }) => !optional && this.#phaseOf(name) !== 'Started');
    if (missing === undefined) return undefined;
    const { name } = missing;
    return `needs plugin "${name}", which is ${this.isEnabled(name) ? this.#phaseOf(name) : 'disabled'}`;
  }

  /** One that has to stop is Stopping for those that need it, also while it waits for others to stop before it. */
  #phaseOf(name: string): PluginPhase | undefined {
    const instance = this.#instances.get(name);
    const phase = instance?.state.phase;
    return phase === 'Started' && instance !== undefined && this.#stops.has(instance) ? 'Stopping' : phase;
  }

  async #stop(instance: PluginInstance): Promise<void> {
    const stopped = this.#stops.get(instance) ?? this.#stopAfterDependents(instance);
    this.#stops.set(instance, stopped);
    await stopped;
  }

  async #stopAfterDependents(instance: PluginInstance): Promise<void> {
    const { name } = instance.manifest;
    const dependents = this.instances.filter(
      ({ manifest, isRunning }) => isRunning && manifest.dependencies.some((each) => each.name === name),
    );
    await Promise.all(dependents.map(async (dependent) => this.#stop(dependent)));
    await instance.stop();
  }
}
