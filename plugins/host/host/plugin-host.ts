import type { ApiServer } from '@homeostat/apiserver';
import { systemClock } from '@homeostat/controller-runtime';
import type { Reporter } from '@homeostat/controller-runtime';
import { checkName, silentLogger } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { basename, resolve } from 'node:path';
import { AwaitedKinds } from '../lifecycle/awaited-kinds.ts';
import type { KindNames, KnownPlugin } from '../lifecycle/awaited-kinds.ts';
import type { PluginManagers } from '../lifecycle/controllers-page.ts';
import type { LeaseTimes } from '../lifecycle/elected-controllers.ts';
import { withDeadline } from '../text/deadline.ts';
import { errorText } from '../text/error-text.ts';
import { BlockedRecount } from '../lifecycle/blocked-recount.ts';
import { hostVersion } from '../text/host-version.ts';
import { installedPlugins, openInstalled } from '../install/installed-plugins.ts';
import { checkFits, type PluginManifest } from '../manifest/manifest.ts';
import { isBegunInFolder, isFromFolder } from '../text/error-stack.ts';
import { checkPlugin } from '../sdk/plugin.ts';
import { PluginFleet } from '../lifecycle/plugin-fleet.ts';
import type { PluginWishes } from '../lifecycle/plugin-state.ts';
import { openPluginFolder } from '../package/plugin-folder.ts';
import type { PluginInstance } from '../lifecycle/plugin-instance.ts';
import { PluginObjects, type DesiredPlugin } from '../objects/plugin-objects.ts';
import { identityOf, type PluginReport } from '../objects/plugin-report.ts';
import { removeRoles } from '../lifecycle/plugin-roles.ts';
import { pluginDeadlineMs, type PluginRunParts } from '../lifecycle/plugin-run.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import type { PluginPhase } from '../lifecycle/plugin-state.ts';
import { SettingsObjects } from '../settings/settings-objects.ts';

export interface PluginHostOptions {
  readonly server: PluginRunParts['server'] & Pick<ApiServer, 'client' | 'sharesDatabase'>;
  /**
   * True, or the times of the leases, when the controllers of each plugin work in only one replica at a time, by one
   * lease for each plugin; false when they work in all replicas. Default: true if other servers may use the database.
   */
  readonly leaderElection?: boolean | LeaseTimes;
  /**
   * A folder of plugin folders, each with its plugin's name. The host looks there for a plugin when a Plugin object has
   * the name of a plugin that was not added. Default: none.
   */
  readonly pluginsDir?: string;
  /** Records the runs of the plugins' controllers. The caller closes it after the host. Default: no records. */
  readonly reporter?: Reporter;
  /** Called when a plugin has become Failed; may be called again for the same failure. */
  readonly onFailed?: () => void;
  /** Default: the real time. */
  readonly clock?: Clock;
  /** Default: silent. */
  readonly logger?: Logger;
}

export interface PluginStatus {
  readonly name: string;
  /** Empty when the manifest could not be read, or when the running host refused a plugin that was added. */
  readonly version: string;
  readonly phase: PluginPhase;
  /** The reason why the plugin is Failed; undefined in other phases. */
  readonly reason?: string;
}

/** Phases that do not end by themselves. */
const settled: readonly PluginPhase[] = ['Started', 'Failed', 'Stopped'];

/** The message in the status of a Plugin object when the host has no plugin of its name. */
const notInstalled = 'the host has no plugin of this name';

/**
 * Runs plugins in dependency order, independent ones at the same time. A failure of one affects only the plugins that
 * depend on it. Each plugin also has an object; a change of its `spec.enabled` starts or stops the plugin. A host is
 * used once: add plugins, start, stop.
 */
export class PluginHost {
  readonly #parts: Required<Pick<PluginHostOptions, 'server' | 'clock' | 'logger'>>;
  readonly #fleet: PluginFleet;
  readonly #objects: PluginObjects;
  readonly #settings: SettingsObjects;
  readonly #awaited: AwaitedKinds;
  /** The plugins that the host refused when they were added, by name. */
  readonly #refused = new Map<string, PluginStatus>();
  readonly #pluginsDir: string | undefined;
  readonly #onFailed: (() => void) | undefined;
  /** The names of the plugins that were added from the folder of plugins. */
  readonly #installed = new Set<string>();
  readonly #blocked: BlockedRecount;
  #started: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  #isReady = false;

  constructor(options: PluginHostOptions) {
    const { server, clock = systemClock, logger = silentLogger } = options;
    const { leaderElection = server.sharesDatabase } = options;
    const times = leaderElection === true ? {} : leaderElection;
    this.#parts = { server, clock, logger };
    this.#awaited = new AwaitedKinds(server.schemeManager);
    this.#pluginsDir = options.pluginsDir;
    this.#onFailed = options.onFailed;
    const onSettings = (name: string): void => void this.#fleet.settingsChanged(name);
    this.#settings = new SettingsObjects({ server, clock, logger, onChange: onSettings });
    const parts = {
      ...this.#parts,
      settings: this.#settings,
      ...(times === false ? {} : { leaderElection: times }),
      ...(options.reporter === undefined ? {} : { reporter: options.reporter }),
    };
    this.#fleet = new PluginFleet({
      parts,
      check: (manifest) => this.#check(manifest),
      onChange: (instance) => this.#onChange(instance),
    });
    this.#blocked = new BlockedRecount({
      ...this.#parts,
      instances: () => this.#fleet.instances,
      onCounted: (instance) => this.#onChange(instance),
    });
    const onDesired = async (desired: DesiredPlugin): Promise<void> => this.#onDesired(desired);
    const onDeleted = async (name: string): Promise<boolean> => this.#onDeleted(name);
    const onAbandoned = async (name: string): Promise<void> => this.#onAbandoned(name);
    this.#objects = new PluginObjects({ server, clock, logger, onDesired, onDeleted, onAbandoned });
  }

  /**
   * Adds the plugin of a folder, and resolves with its name in {@link statuses}. Never rejects: a plugin that cannot be
   * read is Failed, under the name of the folder.
   */
  async addFolder(path: string): Promise<string> {
    try {
      const source = await openPluginFolder(path);
      this.add(source);
      return source.manifest.name;
    } catch (err) {
      const name = basename(resolve(path));
      this.#refuse(err, { name, version: '' });
      return name;
    }
  }

  /**
   * Adds all plugins in the folder of plugins, in the order of their names. A plugin that cannot be read is Failed, and
   * a missing folder counts as empty. Rejects when the folder cannot be read for another reason.
   */
  async addInstalled(): Promise<void> {
    if (this.#pluginsDir === undefined) return;
    for (const name of await installedPlugins(this.#pluginsDir)) await this.#addInstalled(this.#pluginsDir, name);
  }

  async #addInstalled(pluginsDir: string, name: string): Promise<void> {
    this.#installed.add(name);
    try {
      this.add(await openInstalled(pluginsDir, name));
    } catch (err) {
      this.#refuse(err, { name, version: '' });
    }
  }

  /**
   * Adds a plugin. Never throws: a plugin is Failed when it requires another version of the host, when its group is
   * reserved, when another plugin has its name, or when the schema of its settings is invalid.
   */
  add(source: PluginSource): void {
    const { manifest } = source;
    try {
      const namesake = this.#fleet.get(manifest.name);
      if (namesake !== undefined) throw new Error(`there is a plugin "${manifest.name}" already${from(namesake)}`);
      this.#check(manifest);
      this.#fleet.add(source);
    } catch (err) {
      this.#refuse(err, manifest);
    }
  }

  /**
   * Replaces the plugin of the same name, even one that was refused. The plugins that depend on it also stop, and start
   * again; others are not affected, and stored objects stay. Resolves when the new plugin is Started or Failed, or when
   * its object disables it. Rejects, and keeps the previous plugin running, when the new plugin requires another
   * version of the host, when its group is reserved, when its module cannot be loaded or exports no plugin, or when the
   * schema of its settings is invalid.
   */
  async reload(source: PluginSource): Promise<void> {
    this.#checkFits(source.manifest);
    const exported = await withDeadline(async () => source.load(), {
      what: 'loading its module',
      timeoutMs: pluginDeadlineMs,
      clock: this.#parts.clock,
    });
    checkPlugin(exported);
    await this.#started;
    this.#settings.add(source.manifest);
    this.#refused.delete(source.manifest.name);
    await this.#fleet.replace(source);
  }

  /** Loads and starts all plugins that are enabled. Resolves when each is Started or Failed; never rejects. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  /**
   * Stops all plugins, dependents before their dependencies, and writes their last phase to their objects. Never
   * rejects.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Returns a status for every plugin, in the order in which they were added; plugins that were refused come last. */
  statuses(): readonly PluginStatus[] {
    const statuses = this.#fleet.instances.map(({ manifest, state }) => ({
      name: manifest.name,
      version: manifest.version,
      phase: state.phase,
      ...(state.phase === 'Failed' ? { reason: state.reason } : {}),
    }));
    return [...statuses, ...this.#refused.values()];
  }

  /**
   * True when each plugin is Started, Stopped or Failed, the objects of the plugins show this phase, and no controller
   * has work; delayed keys do not count.
   */
  isIdle(): boolean {
    const parts = [this.#settings, this.#fleet, this.#objects];
    return this.#started !== undefined && parts.every((part) => part.isIdle());
  }

  /** The managers of the running plugins' controllers. */
  managers(): PluginManagers {
    return new Map(
      this.#fleet.instances.flatMap(({ manifest, state }) =>
        'run' in state ? [[manifest.name, state.run.manager] as const] : [],
      ),
    );
  }

  /** The extension points of the running plugins, with their contributions. */
  extensionPoints(): ReturnType<PluginFleet['extensionPoints']> {
    return this.#fleet.extensionPoints();
  }

  /**
   * Returns the reason why the host is not ready, such as the plugins that are not Started, Failed or Stopped yet.
   * After the host was ready once, always returns undefined, so that a plugin that is enabled later does not make the
   * server unready.
   */
  readinessProblem(): string | undefined {
    if (this.#isReady) return undefined;
    if (this.#started === undefined) return 'plugins have not been loaded yet';
    const waiting = this.statuses().filter(({ phase }) => !settled.includes(phase));
    return waiting.length === 0 ? undefined : waiting.map(({ name, phase }) => `${name} is ${phase}`).join(', ');
  }

  /** Returns why an unserved kind may be served later; undefined if the host is ready, and no plugin will serve it. */
  awaitedKind(kind: KindNames): string | undefined {
    if (!this.#isReady) return 'plugins are being started';
    const known = this.#fleet.instances.map(({ manifest: { name, group }, state: { phase } }): KnownPlugin => {
      return { name, phase, group, isEnabled: this.#fleet.isEnabled(name) };
    });
    const refused = [...this.#refused.values()].map((plugin) => ({ ...plugin, group: undefined, isEnabled: true }));
    return this.#awaited.reasonOf(kind, [...known, ...refused]);
  }

  /** Returns the name of the plugin whose files are on the stack of an error; undefined when there is none. */
  pluginOf(error: unknown): string | undefined {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    return this.#fleet.instances.find(({ folder }) => folder !== undefined && isFromFolder(stack, folder))?.manifest
      .name;
  }

  /**
   * Fails the plugin that threw an uncaught exception, and returns its name. Returns undefined when the exception may
   * have interrupted other code as well; then the process should end.
   */
  crash(error: unknown): string | undefined {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    const blamed = this.#fleet.instances.find(({ folder }) => folder !== undefined && isBegunInFolder(stack, folder));
    if (blamed === undefined) return undefined;
    const { name } = blamed.manifest;
    void this.#fleet.crash(name, error);
    return name;
  }

  async #start(): Promise<void> {
    const [desired] = await Promise.all([this.#objects.open(), this.#settings.open()]);
    if (this.#stopped !== undefined) return;
    for (const { name } of desired) this.#reportStranger(name);
    this.#objects.follow();
    this.#settings.follow();
    await this.#fleet.start(desired.map(({ name, ...wishes }) => [name, wishes]));
    this.#isReady = true;
  }

  async #stop(): Promise<void> {
    this.#blocked.stop();
    await this.#fleet.stop();
    await this.#started;
    await Promise.all([this.#objects.close(), this.#settings.close()]);
  }

  #refuse(err: unknown, manifest: Pick<PluginManifest, 'name' | 'version'> | PluginManifest): void {
    const { name, version } = manifest;
    const reason = errorText(err);
    this.#parts.logger.error({ err, plugin: name }, 'plugin failed');
    this.#refused.set(name, { name, version, phase: 'Failed', reason });
    this.#onFailed?.();
    // No object is written in two cases: the object of this name belongs to another plugin; or the manifest cannot be
    // read, so that the plugin has the name of its folder, and this name is not valid for an object.
    if (this.#fleet.get(name) !== undefined || checkName(name, 'label').length > 0) return;
    const identity = 'dependencies' in manifest ? identityOf(manifest) : {};
    this.#report(name, { identity, phase: 'Failed', reason: 'Refused', message: reason });
  }

  async #onDesired({ name, ...wishes }: DesiredPlugin): Promise<void> {
    if (this.#fleet.get(name) !== undefined) await this.#fleet.setWishes(name, wishes);
    else if (!(await this.#adopt(name, wishes))) this.#reportStranger(name);
  }

  #check(manifest: PluginManifest): void {
    this.#checkFits(manifest);
    this.#settings.add(manifest);
  }

  #checkFits(manifest: PluginManifest): void {
    const { serviceDomain } = this.#parts.server.schemeManager;
    checkFits(manifest, { version: hostVersion(), serviceDomain });
  }

  /** Adds a plugin that was installed or repaired after the host had started. False if no such plugin is installed. */
  async #adopt(name: string, wishes: PluginWishes): Promise<boolean> {
    if (this.#pluginsDir === undefined || this.#stopped !== undefined) return false;
    if (!(await installedPlugins(this.#pluginsDir)).includes(name)) return false;
    this.#installed.add(name);
    const plugin = { name, version: '' };
    try {
      const source = await openInstalled(this.#pluginsDir, name);
      plugin.version = source.manifest.version;
      this.#check(source.manifest);
      this.#refused.delete(name);
      await this.#fleet.adopt(source, wishes);
    } catch (err) {
      this.#refuse(err, plugin);
    }
    return true;
  }

  /** Forgets a stopped plugin when its folder was removed and its object was deleted. */
  async #onDeleted(name: string): Promise<boolean> {
    if (this.#pluginsDir === undefined || !this.#installed.has(name)) return false;
    if ((await installedPlugins(this.#pluginsDir)).includes(name)) return false;
    if (this.#fleet.get(name)?.hasEnded === false) return false;
    this.#installed.delete(name);
    this.#blocked.delete(name);
    this.#refused.delete(name);
    this.#settings.remove(name);
    this.#fleet.remove(name);
    return true;
  }

  async #onAbandoned(name: string): Promise<void> {
    if (this.#fleet.get(name) === undefined) await removeRoles(name, this.#parts);
  }

  #onChange({ manifest, state, indexing }: PluginInstance): void {
    const { name } = manifest;
    const identity = identityOf(manifest);
    const { phase } = state;
    if ('run' in state) this.#blocked.set(name, state.run.held);
    else if (phase === 'Stopped' || phase === 'Failed') this.#blocked.later();
    if (phase === 'Failed') this.#onFailed?.();
    if (state.phase === 'Failed') this.#report(name, { identity, phase, reason: state.failure, message: state.reason });
    else if (phase === 'Stopped' && !this.#fleet.isEnabled(name))
      this.#report(name, { identity, phase, reason: 'Disabled', message: 'spec.enabled is false' });
    else {
      const contested = state.phase === 'Started' ? state.run.contested : [];
      this.#report(name, { identity, phase, indexing: phase === 'Starting' ? indexing : [], contested });
    }
  }

  /**
   * Reports in a Plugin object that its plugin was removed, or never existed. The Plugin object stays, and so do the
   * objects of the plugin's kinds.
   */
  #reportStranger(name: string): void {
    const isKnown = this.statuses().some((plugin) => plugin.name === name);
    if (!isKnown) this.#report(name, { phase: 'Stopped', reason: 'NotInstalled', message: notInstalled });
  }

  #report(name: string, report: Pick<PluginReport, 'phase'> & Partial<PluginReport>): void {
    const wishes = this.#fleet.wishesOf(name);
    const known = report.phase === 'Started' ? [] : this.#blocked.kindsOf(name);
    const held = known === undefined ? {} : { held: known };
    const atMs = this.#parts.clock.now();
    this.#objects.report(name, { indexing: [], contested: [], ...held, ...report, wishes, atMs });
  }
}

function from({ folder }: PluginInstance): string {
  return folder === undefined ? '' : `, from ${folder}`;
}
