import { dependencyOrder, dependencyProblems } from '../manifest/dependencies.ts';
import { EventBus } from '../exchange/event-bus.ts';
import { ExtensionTable } from '../exchange/extension-table.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { PluginInstance } from './plugin-instance.ts';
import type { PluginWishes } from './plugin-state.ts';
import type { PluginRunParts } from './plugin-run.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import type { PluginPhase } from './plugin-state.ts';

export interface PluginFleetOptions {
  /** Judges, and takes note of, a manifest that was read anew. Throws where the plugin cannot be run. */
  readonly check: (manifest: PluginManifest) => void;
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
  /** What each object's `reload` said when it was acted upon. */
  readonly #reloads = new Map<string, string | undefined>();
  readonly #beginnings = new Map<string, Promise<void>>();
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
  async start(wishes: Iterable<readonly [name: string, wishes: PluginWishes]>): Promise<void> {
    for (const [name, wished] of wishes) this.#note(name, wished);
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
    await Promise.all(this.#beginnings.values());
    await Promise.all(this.instances.map(async (instance) => this.#stop(instance)));
    await Promise.all(this.instances.map(async (instance) => this.#starts.get(instance)));
  }

  /**
   * Enables, disables or reloads a plugin. Resolves when one that is disabled or reloaded has stopped, with all that depend
   * on it; a start goes on by itself. A plugin that is Failed stays so until it is disabled, reloaded, or enabled again.
   */
  async setWishes(name: string, wishes: PluginWishes): Promise<void> {
    const isNews = this.isEnabled(name) !== wishes.enabled;
    const isReload = this.#reloads.get(name) !== wishes.reload;
    this.#note(name, wishes);
    const instance = this.#instances.get(name);
    if ((isNews || isReload) && instance?.state.phase === 'Failed' && !this.#isStopping)
      await this.#stop(this.#create(instance.source));
    else if (isReload && !isNews && instance?.hasEnded === false) await this.#stopAndSettle(instance);
    await this.#settle(name);
  }

  /** Adds a plugin while others run, unless they are being stopped. Its start goes on by itself. */
  async adopt(source: PluginSource, wishes: PluginWishes): Promise<void> {
    if (this.#isStopping) return;
    const { name } = source.manifest;
    this.#note(name, wishes);
    const instance = this.#create(source);
    if (wishes.enabled) this.#begin(instance);
    else await this.#stop(instance);
  }

  /** Forgets a plugin that does not run. */
  remove(name: string): void {
    this.#instances.delete(name);
    this.#disabled.delete(name);
    this.#reloads.delete(name);
  }

  /** Fails a plugin for an exception that escaped from it, once it has stopped, with all that depend on it. */
  async crash(name: string, error: unknown): Promise<void> {
    const instance = this.#instances.get(name);
    if (instance?.isRunning !== true) return;
    instance.noteCrash(error);
    await this.#stopAndSettle(instance);
  }

  /**
   * Puts a plugin in the place of the one of that name, which stops, with all that depend on it; those come back by
   * themselves. Resolves when the new one is where it stays.
   */
  async replace(source: PluginSource): Promise<void> {
    const { name } = source.manifest;
    await this.#beginnings.get(name);
    await this.#asBeginning(name, this.#putInPlace(source));
    const instance = this.#instances.get(name);
    const started = instance && this.isEnabled(name) && !this.#isStopping ? this.#start(instance) : undefined;
    await Promise.all([started, this.#settleStopped()]);
  }

  async #putInPlace(source: PluginSource): Promise<void> {
    const { name } = source.manifest;
    const before = this.#instances.get(name);
    if (before?.hasEnded === false) await this.#stop(before);
    if (this.#isStopping) return;
    const instance = this.#create(source);
    if (this.isEnabled(name)) this.#begin(instance);
    else await this.#stop(instance);
  }

  /** The settings of a plugin have changed: one that failed for those before begins anew. */
  async settingsChanged(name: string): Promise<void> {
    const instance = this.#instances.get(name);
    if (instance === undefined) return;
    await this.#starts.get(instance);
    const { state } = instance;
    const isMistaken = state.phase === 'Failed' && state.failure === 'SettingsInvalid';
    if (!isMistaken || this.#isStopping || !this.isEnabled(name)) return;
    if (this.#instances.get(name) === instance) await this.#beginAnew(instance);
  }

  /** Nothing is on its way, and no controller has anything to do. */
  isIdle(): boolean {
    return this.#beginnings.size === 0 && this.instances.every((instance) => instance.isIdle());
  }

  #note(name: string, { enabled, reload }: PluginWishes): void {
    if (enabled) this.#disabled.delete(name);
    else this.#disabled.add(name);
    this.#reloads.set(name, reload);
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
    if (this.isEnabled(name)) {
      if (instance.state.phase === 'Stopped') await this.#beginAnew(instance);
      return;
    }
    if (!instance.hasEnded) await this.#stopAndSettle(instance);
    await this.#forgetFailure(name);
  }

  async #stopAndSettle(instance: PluginInstance): Promise<void> {
    await this.#stop(instance);
    await this.#settleWanted(instance.manifest.name);
    await this.#settleStopped();
  }

  /** Those that stopped with another are wanted: they begin anew, and say what they lack. */
  async #settleStopped(): Promise<void> {
    const wanted = this.instances.filter(({ manifest }) => this.isEnabled(manifest.name));
    for (const { manifest, state } of wanted) if (state.phase === 'Stopped') await this.#settle(manifest.name);
  }

  async #settleWanted(name: string): Promise<void> {
    if (this.isEnabled(name)) await this.#settle(name);
  }

  /** It failed before its turn to stop came: what is disabled is Stopped. That its stop failed stays to be seen. */
  async #forgetFailure(name: string): Promise<void> {
    const instance = this.#instances.get(name);
    if (instance?.state.phase !== 'Failed' || instance.state.failure === 'StopFailed') return;
    if (!this.isEnabled(name) && !this.#isStopping) await this.#stop(this.#create(instance.source));
  }

  /** From its files as they are now. */
  async #beginAnew(instance: PluginInstance): Promise<void> {
    const { name } = instance.manifest;
    await this.#asBeginning(name, this.#beginnings.get(name) ?? this.#reopen(instance));
  }

  /** Whoever wants the plugin to begin meanwhile waits for this. */
  async #asBeginning(name: string, beginning: Promise<void>): Promise<void> {
    this.#beginnings.set(name, beginning);
    try {
      await beginning;
    } finally {
      // Several wait for one beginning, and the next may be under way when the last of them goes on.
      if (this.#beginnings.get(name) === beginning) this.#beginnings.delete(name);
    }
  }

  async #reopen({ source }: PluginInstance): Promise<void> {
    const { name } = source.manifest;
    try {
      const present = (await source.reopen?.()) ?? source;
      if (present.manifest.name !== name) throw new Error(`its manifest says plugin "${present.manifest.name}" now`);
      this.#options.check(present.manifest);
      if (this.isEnabled(name) && !this.#isStopping) this.#begin(this.#create(present));
    } catch (error) {
      if (this.isEnabled(name) && !this.#isStopping) this.#create(source).fail(error, 'Refused');
    }
  }

  #begin(instance: PluginInstance): void {
    this.#failWithoutDependencies(instance);
    void this.#start(instance);
  }

  /** Those that failed for want of a plugin that is Started now. */
  #beginWaiting(): void {
    for (const instance of this.instances) {
      const { state, manifest } = instance;
      const isWaiting =
        state.phase === 'Failed' && ['DependencyNotStarted', 'DependencyMissing'].includes(state.failure);
      if (!isWaiting || this.#isStopping || !this.isEnabled(manifest.name)) continue;
      if (this.#missingDependency(instance) !== undefined || this.#dependencyProblem(instance) !== undefined) continue;
      void this.#beginAnew(instance);
    }
  }

  #manifests(): ReadonlyMap<string, PluginManifest> {
    return new Map(this.instances.map(({ manifest }) => [manifest.name, manifest]));
  }

  #dependencyProblem({ manifest }: PluginInstance): string | undefined {
    return dependencyProblems(this.#manifests()).get(manifest.name);
  }

  #failWithoutDependencies(instance: PluginInstance): void {
    const problem = this.#dependencyProblem(instance);
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
