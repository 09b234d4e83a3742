import { EventBus } from '../exchange/event-bus.ts';
import { ExtensionTable } from '../exchange/extension-table.ts';
import type { PointSummary } from '../exchange/extension-table.ts';
import { dependencyOrder, dependencyProblems } from '../manifest/dependencies.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import { PluginInstance } from './plugin-instance.ts';
import type { PluginRunParts } from './plugin-run.ts';
import type { PluginPhase, PluginWishes } from './plugin-state.ts';

export interface PluginFleetParts {
  /**
   * Called with each manifest that is read again before its plugin starts again. Throws when the host cannot run the
   * plugin.
   */
  readonly check: (manifest: PluginManifest) => void;
  readonly parts: Omit<PluginRunParts, 'extensions' | 'events'>;
  /** Called for every phase of every plugin, and for the progress of its indexes. Must not throw. */
  readonly onChange: (instance: PluginInstance) => void;
}

/**
 * The plugins of a host. The methods record the desired state of each plugin, and call `#reconcile`, which starts the
 * next step of each plugin. The end of a step calls `#reconcile` again, until every plugin has its desired state or
 * waits for another one. A plugin that was Stopped or Failed starts again as a new instance. No method rejects.
 */
export class PluginFleet {
  readonly #check: PluginFleetParts['check'];
  readonly #onChange: PluginFleetParts['onChange'];
  readonly #parts: PluginRunParts;
  readonly #extensions: ExtensionTable;
  readonly #instances = new Map<string, PluginInstance>();
  readonly #wishes = new Map<string, PluginWishes>();
  /** The names of the plugins whose files are being read again. */
  readonly #reopening = new Set<string>();
  readonly #steps = new Set<Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #mayStart = false;
  #isStopping = false;

  constructor({ check, onChange, parts }: PluginFleetParts) {
    this.#check = check;
    this.#onChange = onChange;
    this.#extensions = new ExtensionTable(() => dependencyOrder(this.#manifests()));
    this.#parts = { ...parts, extensions: this.#extensions, events: new EventBus() };
  }

  /** The present instance of each plugin, in the order in which the plugins were added. */
  get instances(): readonly PluginInstance[] {
    return [...this.#instances.values()];
  }

  extensionPoints(): readonly PointSummary[] {
    return this.#extensions.summaries();
  }

  get(name: string): PluginInstance | undefined {
    return this.#instances.get(name);
  }

  wishesOf(name: string): PluginWishes {
    return this.#wishes.get(name) ?? { enabled: true };
  }

  isEnabled(name: string): boolean {
    return this.wishesOf(name).enabled;
  }

  /**
   * True when no plugin is being started, stopped or read again, and each plugin is Stopped, Failed, or Started with
   * controllers that have no work.
   */
  isIdle(): boolean {
    return this.#steps.size === 0 && this.instances.every((instance) => instance.isIdle());
  }

  /** Adds a plugin. The caller has checked that no other plugin has its name. */
  add(source: PluginSource): void {
    this.#create(source);
  }

  /** Starts all plugins except the disabled ones. Resolves when each is Started, Stopped or Failed. */
  async start(wishes: Iterable<readonly [name: string, wishes: PluginWishes]>): Promise<void> {
    for (const [name, wished] of wishes) this.#wishes.set(name, wished);
    const { instances } = this;
    this.#reconcile();
    // No plugin starts before all modules are loaded, so that the order in which plugins register kinds does not depend
    // on the speed of reading files.
    await this.#until(() => instances.every(({ state }) => state.phase !== 'Created'));
    this.#mayStart = true;
    this.#reconcile();
    await this.#until(() => instances.every(isSettled));
  }

  /** Stops all plugins, each after the plugins that depend on it. Nothing starts afterwards. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#reconcile();
    await this.#until(() => this.#steps.size === 0 && this.instances.every(({ hasEnded }) => hasEnded));
  }

  /**
   * Enables, disables or reloads a plugin. If it is disabled or reloaded, resolves when the plugin and its dependents
   * have stopped and, for a reload, its files have been read again. Does not wait for a start. If the call changes
   * `enabled` or `reload` of a Failed plugin, the plugin is no longer Failed, and starts again unless it is disabled.
   */
  async setWishes(name: string, wishes: PluginWishes): Promise<void> {
    const isReload = this.#wishes.get(name)?.reload !== wishes.reload;
    const isNews = isReload || this.isEnabled(name) !== wishes.enabled;
    this.#wishes.set(name, wishes);
    const instance = this.#instances.get(name);
    if (isNews && instance?.state.phase === 'Failed' && !this.#isStopping) this.#forgetFailure(instance.source);
    else if (isReload) instance?.retire();
    this.#reconcile();
    await this.#until(() => !this.#isEnding(this.get(name)) && !this.#reopening.has(name));
  }

  /**
   * Adds a plugin while other plugins run, unless the fleet is being stopped. Does not wait for the start of the
   * plugin.
   */
  async adopt(source: PluginSource, wishes: PluginWishes): Promise<void> {
    if (this.#isStopping) return;
    this.#wishes.set(source.manifest.name, wishes);
    this.#create(source);
    this.#reconcile();
  }

  /** Removes a plugin from the fleet. The plugin must not be running. */
  remove(name: string): void {
    this.#instances.delete(name);
    this.#wishes.delete(name);
  }

  /**
   * Stops a plugin, and the plugins that depend on it, after an uncaught exception of the plugin. The plugin is Failed
   * afterwards.
   */
  async crash(name: string, error: unknown): Promise<void> {
    const instance = this.#instances.get(name);
    if (instance?.isRunning !== true) return;
    instance.retire({ crash: { error } });
    this.#reconcile();
    await this.#until(() => instance.hasEnded);
  }

  /**
   * Replaces the plugin that has the same name as the new one, or adds the new plugin if there is none. The old plugin
   * and its dependents stop first; the dependents start again after the new plugin. Resolves when the new plugin is
   * Started, Stopped or Failed.
   */
  async replace(source: PluginSource): Promise<void> {
    if (this.#isStopping) return;
    const { name } = source.manifest;
    const present = this.#instances.get(name);
    present?.retire({ successor: source });
    if (present === undefined) this.#create(source);
    this.#reconcile();
    await this.#until(() => (this.#isStopping || this.get(name) !== present) && isSettled(this.get(name)));
  }

  /**
   * Call this method when the settings of a plugin have changed: a plugin that failed because of its settings starts
   * again.
   */
  async settingsChanged(name: string): Promise<void> {
    const instance = this.#instances.get(name);
    if (instance === undefined) return;
    await this.#until(() => instance.state.phase !== 'Starting');
    const { state } = instance;
    const isMistaken = state.phase === 'Failed' && state.failure === 'SettingsInvalid';
    if (isMistaken && this.#needsNext(instance)) this.#reopen(instance);
  }

  #reconcile(): void {
    // Checks dependencies before their dependents. After each step, checks all plugins again, because the step may
    // allow steps of others.
    while (dependencyOrder(this.#manifests()).some((name) => this.#advance(name)));
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Starts the next step of a plugin's life cycle, such as its load. Returns false when no step is possible now. */
  #advance(name: string): boolean {
    const instance = this.#instances.get(name);
    const step = instance === undefined ? undefined : this.#nextStep(instance);
    step?.();
    return step !== undefined;
  }

  /**
   * Returns the next step of a plugin. Returns undefined when the plugin has its desired state, while a step of it is
   * running, and while it waits for another plugin.
   */
  #nextStep(instance: PluginInstance): (() => void) | undefined {
    if (instance.hasEnded) return this.#isStopping ? undefined : this.#stepAfterEnd(instance);
    if (this.#mustEnd(instance)) return this.#mayEnd(instance) ? () => this.#take(instance.stop()) : undefined;
    const { phase } = instance.state;
    if (phase === 'Created' && !instance.isLoading) return () => this.#load(instance);
    const mayStart =
      phase === 'Resolved' && this.#mayStart && !this.#dependsOn(instance, (each) => this.#isComing(each));
    return mayStart ? () => this.#start(instance) : undefined;
  }

  #stepAfterEnd(instance: PluginInstance): (() => void) | undefined {
    const { state, source, successor } = instance;
    if (successor !== undefined) return () => void this.#create(successor);
    if (this.isEnabled(source.manifest.name))
      return this.#mayComeBack(instance) ? () => this.#reopen(instance) : undefined;
    // A disabled plugin that has failed becomes Stopped, unless its stop failed: that failure remains visible.
    const isForgotten = state.phase === 'Failed' && state.failure !== 'StopFailed';
    return isForgotten ? () => this.#forgetFailure(source) : undefined;
  }

  #load(instance: PluginInstance): void {
    const problem = this.#dependencyProblem(instance);
    if (problem === undefined) this.#take(instance.load());
    else instance.fail(new Error(problem), 'DependencyMissing');
  }

  #start(instance: PluginInstance): void {
    const missing = this.#missingDependency(instance);
    if (missing === undefined) this.#take(instance.start());
    else instance.fail(new Error(missing), 'DependencyNotStarted');
  }

  #forgetFailure(source: PluginSource): void {
    this.#take(this.#create(source).stop());
  }

  /** Reads the files of a plugin that has ended, and makes its next instance from them. */
  #reopen(ended: PluginInstance): void {
    this.#reopening.add(ended.manifest.name);
    this.#take(this.#createFromFiles(ended));
  }

  async #createFromFiles(ended: PluginInstance): Promise<void> {
    const { source } = ended;
    const { name } = source.manifest;
    try {
      const present = (await source.reopen?.()) ?? source;
      if (present.manifest.name !== name) throw new Error(`plugin.yaml now has the name "${present.manifest.name}"`);
      this.#check(present.manifest);
      if (this.#needsNext(ended)) this.#create(present);
    } catch (error) {
      if (this.#needsNext(ended)) this.#create(source).fail(error, 'Refused');
    } finally {
      this.#reopening.delete(name);
    }
  }

  #create(source: PluginSource): PluginInstance {
    const instance = new PluginInstance(source, this.#parts, this.#onChange);
    this.#instances.set(source.manifest.name, instance);
    this.#onChange(instance);
    return instance;
  }

  #take(step: Promise<void>): void {
    this.#steps.add(step);
    void step.finally(() => {
      this.#steps.delete(step);
      this.#reconcile();
    });
  }

  async #until(isReached: () => boolean): Promise<void> {
    while (!isReached()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #isWanted(name: string): boolean {
    return this.isEnabled(name) && !this.#isStopping;
  }

  /**
   * True when an instance has ended, its plugin should run, and no other instance has replaced or will replace the
   * ended one.
   */
  #needsNext(ended: PluginInstance): boolean {
    const { name } = ended.manifest;
    return this.get(name) === ended && this.#isWanted(name) && ended.successor === undefined;
  }

  /**
   * True when an instance must end, for one of these reasons: its plugin is disabled, or the host stops; `retire` was
   * called, for a reload, a crash or a replacement; or the instance runs, and one of its dependencies, even an optional
   * one, is ending.
   */
  #mustEnd(instance: PluginInstance): boolean {
    const { name } = instance.manifest;
    if (!this.#isWanted(name) || instance.isRetired) return true;
    return instance.isRunning && this.#dependsOn(instance, (dependency) => this.#isEnding(dependency));
  }

  #mayEnd(instance: PluginInstance): boolean {
    if (!instance.isRunning) return true;
    const isInUse = this.instances.some((each) => each.isRunning && this.#dependsOn(each, (it) => it === instance));
    return instance.state.phase !== 'Stopping' && !isInUse;
  }

  #isEnding(instance: PluginInstance | undefined): boolean {
    return instance?.hasEnded === false && this.#mustEnd(instance);
  }

  /** True while an instance is on its way to Started or Failed, or its files are being read again. */
  #isComing(instance: PluginInstance): boolean {
    const { name } = instance.manifest;
    if (this.#reopening.has(name)) return true;
    const { phase } = instance.state;
    return this.#isWanted(name) && !this.#isEnding(instance) && phase !== 'Started' && phase !== 'Failed';
  }

  /**
   * True when a plugin that has ended may start again. A Stopped plugin waits while a dependency is being stopped, or
   * the files of a dependency are being read again: a start in that time would fail. A Failed plugin starts again only
   * if it failed because of a dependency, and all its dependencies are available now.
   */
  #mayComeBack(instance: PluginInstance): boolean {
    const { state, manifest } = instance;
    if (this.#reopening.has(manifest.name)) return false;
    if (state.phase === 'Stopped')
      return !this.#dependsOn(instance, (each) => this.#isEnding(each) || this.#reopening.has(each.manifest.name));
    const lacks: readonly unknown[] = ['DependencyNotStarted', 'DependencyMissing'];
    if (state.phase !== 'Failed' || !lacks.includes(state.failure)) return false;
    return this.#missingDependency(instance) === undefined && this.#dependencyProblem(instance) === undefined;
  }

  #dependsOn({ manifest }: PluginInstance, matches: (dependency: PluginInstance) => boolean): boolean {
    return manifest.dependencies.some(({ name }) => {
      const dependency = this.#instances.get(name);
      return dependency !== undefined && matches(dependency);
    });
  }

  #manifests(): ReadonlyMap<string, PluginManifest> {
    return new Map(this.instances.map(({ manifest }) => [manifest.name, manifest]));
  }

  #dependencyProblem({ manifest }: PluginInstance): string | undefined {
    return dependencyProblems(this.#manifests()).get(manifest.name);
  }

  #missingDependency({ manifest }: PluginInstance): string | undefined {
    const missing = manifest.dependencies.find(({ name, optional }) => !optional && this.#phaseOf(name) !== 'Started');
    if (missing === undefined) return undefined;
    const { name } = missing;
    return `needs plugin "${name}", which is ${this.isEnabled(name) ? this.#phaseOf(name) : 'disabled'}`;
  }

  /**
   * Returns the phase of a plugin as its dependents see it: Stopping as soon as the plugin must stop, even while it
   * waits for its dependents.
   */
  #phaseOf(name: string): PluginPhase | undefined {
    const instance = this.#instances.get(name);
    return this.#isEnding(instance) ? 'Stopping' : instance?.state.phase;
  }
}

function isSettled(instance: PluginInstance | undefined): boolean {
  return instance === undefined || instance.hasEnded || instance.state.phase === 'Started';
}
