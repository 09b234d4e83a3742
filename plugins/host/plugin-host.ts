import type { ApiServer } from '@homeostat/apiserver';
import { systemClock } from '@homeostat/controller-runtime';
import { checkName, silentLogger } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { basename, resolve } from 'node:path';
import type { PluginManagers } from './controllers-page.ts';
import type { LeaseTimes } from './elected-controllers.ts';
import { errorText } from './error-text.ts';
import { hostVersion } from './host-version.ts';
import { checkRequires } from './manifest.ts';
import type { PluginManifest } from './manifest.ts';
import { PluginFleet } from './plugin-fleet.ts';
import { openPluginFolder } from './plugin-folder.ts';
import type { PluginInstance } from './plugin-instance.ts';
import { PluginObjects } from './plugin-objects.ts';
import { identityOf } from './plugin-report.ts';
import type { PluginReport } from './plugin-report.ts';
import type { PluginRunParts } from './plugin-run.ts';
import type { PluginSource } from './plugin-source.ts';
import type { PluginPhase } from './plugin-state.ts';
import { SettingsObjects } from './settings-objects.ts';

export interface PluginHostOptions {
  readonly server: PluginRunParts['server'] & Pick<ApiServer, 'client' | 'sharesDatabase'>;
  /**
   * Whether the controllers of each plugin work in one replica at a time, by a lease of the plugin's, or in all. Default: in
   * one where other servers may serve the same database.
   */
  readonly leaderElection?: boolean | LeaseTimes;
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

/** Phases in which a plugin stays as long as nobody does anything. */
const settled: readonly PluginPhase[] = ['Started', 'Failed', 'Stopped'];

/** Said of objects whose plugin is not there. */
const notInstalled = 'the host has no plugin of this name';

/**
 * Runs plugins in dependency order, those that do not depend on each other at the same time. Whatever one of them does,
 * the others and the host go on. Each is also an object, whose `spec.enabled` starts and stops it. Lives once: add,
 * start, stop.
 */
export class PluginHost {
  readonly #parts: Pick<PluginRunParts, 'server' | 'clock' | 'logger'>;
  readonly #fleet: PluginFleet;
  readonly #objects: PluginObjects;
  readonly #settings: SettingsObjects;
  /** Those that never became an instance. */
  readonly #refused: PluginStatus[] = [];
  #started: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  #isReady = false;

  constructor(options: PluginHostOptions) {
    const { server, clock = systemClock, logger = silentLogger } = options;
    const { leaderElection = server.sharesDatabase } = options;
    const times = leaderElection === true ? {} : leaderElection;
    this.#parts = { server, clock, logger };
    const onSettings = (name: string): void => void this.#fleet.settingsChanged(name);
    this.#settings = new SettingsObjects({ server, clock, logger, onChange: onSettings });
    const parts = {
      ...this.#parts,
      settings: this.#settings,
      ...(times === false ? {} : { leaderElection: times }),
    };
    this.#fleet = new PluginFleet({ parts, onChange: (instance) => this.#onChange(instance) });
    const onDesired = async (name: string, enabled: boolean): Promise<void> => this.#onDesired(name, enabled);
    this.#objects = new PluginObjects({ server, clock, logger, onDesired });
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
      const namesake = this.#fleet.get(manifest.name);
      if (namesake !== undefined) throw new Error(`there is a plugin "${manifest.name}" already${from(namesake)}`);
      this.#settings.add(manifest);
      this.#fleet.add(source);
    } catch (err) {
      this.#refuse(err, manifest);
    }
  }

  /** Loads and starts all plugins that are enabled. Resolves when each is Started or Failed; never rejects. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  /** Stops all plugins, dependents before what they depend on, and writes their last phase. Never rejects. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Every plugin that was added, in that order; those that were refused come last. */
  statuses(): readonly PluginStatus[] {
    const statuses = this.#fleet.instances.map(({ manifest, state }) => ({
      name: manifest.name,
      version: manifest.version,
      phase: state.phase,
      ...(state.phase === 'Failed' ? { reason: state.reason } : {}),
    }));
    return [...statuses, ...this.#refused];
  }

  /**
   * All plugins are where they stay, no controller has anything to do, and their objects say so; keys that wait for
   * their time do not count.
   */
  isIdle(): boolean {
    const parts = [this.#settings, this.#fleet, this.#objects];
    return this.#started !== undefined && parts.every((part) => part.isIdle());
  }

  /** What runs the controllers of each plugin that runs. */
  managers(): PluginManagers {
    return new Map(
      this.#fleet.instances.flatMap(({ manifest, state }) =>
        'run' in state ? [[manifest.name, state.run.manager] as const] : [],
      ),
    );
  }

  /**
   * Why the host is not ready: names the plugins that the start has not settled yet. undefined when it is, and from
   * then on: a plugin that is enabled later does not take the others out of service.
   */
  readinessProblem(): string | undefined {
    if (this.#isReady) return undefined;
    if (this.#started === undefined) return 'plugins have not been loaded yet';
    const waiting = this.statuses().filter(({ phase }) => !settled.includes(phase));
    return waiting.length === 0 ? undefined : waiting.map(({ name, phase }) => `${name} is ${phase}`).join(', ');
  }

  /** The plugin whose files an error comes from, as far as its stack tells. */
  pluginOf(error: unknown): string | undefined {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    return this.#fleet.instances.find(({ folder }) => folder !== undefined && stack.includes(`${folder}/`))?.manifest
      .name;
  }

  async #start(): Promise<void> {
    const [desired] = await Promise.all([this.#objects.open(), this.#settings.open()]);
    if (this.#stopped !== undefined) return;
    for (const { name } of desired) this.#reportStranger(name);
    this.#objects.follow();
    this.#settings.follow();
    await this.#fleet.start(desired.filter(({ enabled }) => !enabled).map(({ name }) => name));
    this.#isReady = true;
  }

  async #stop(): Promise<void> {
    await this.#fleet.stop();
    await this.#started;
    await Promise.all([this.#objects.close(), this.#settings.close()]);
  }

  #refuse(err: unknown, manifest: Pick<PluginManifest, 'name' | 'version'> | PluginManifest): void {
    const { name, version } = manifest;
    const reason = errorText(err);
    this.#parts.logger.error({ err, plugin: name }, 'plugin failed');
    this.#refused.push({ name, version, phase: 'Failed', reason });
    // The object of a name that is taken is the other plugin's; the name of a folder need not be one of an object.
    if (this.#fleet.get(name) !== undefined || checkName(name, 'label').length > 0) return;
    const identity = 'dependencies' in manifest ? identityOf(manifest) : {};
    this.#report(name, { identity, phase: 'Failed', reason: 'Refused', message: reason });
  }

  async #onDesired(name: string, enabled: boolean): Promise<void> {
    if (this.#fleet.get(name) === undefined) this.#reportStranger(name);
    else await this.#fleet.setEnabled(name, enabled);
  }

  #onChange({ manifest, state, indexing }: PluginInstance): void {
    const { name } = manifest;
    const identity = identityOf(manifest);
    const { phase } = state;
    if (state.phase === 'Failed') this.#report(name, { identity, phase, reason: state.failure, message: state.reason });
    else if (phase === 'Stopped' && !this.#fleet.isEnabled(name))
      this.#report(name, { identity, phase, reason: 'Disabled', message: 'spec.enabled is false' });
    else this.#report(name, { identity, phase, indexing: phase === 'Starting' ? indexing : [] });
  }

  /** An object whose plugin was taken away, or never was there, says so; it and the objects of its kinds stay. */
  #reportStranger(name: string): void {
    const isKnown = this.statuses().some((plugin) => plugin.name === name);
    if (!isKnown) this.#report(name, { phase: 'Stopped', reason: 'NotInstalled', message: notInstalled });
  }

  #report(name: string, report: Omit<PluginReport, 'enabled' | 'atMs' | 'indexing'> & Partial<PluginReport>): void {
    const enabled = this.#fleet.isEnabled(name);
    this.#objects.report(name, { indexing: [], ...report, enabled, atMs: this.#parts.clock.now() });
  }
}

function from({ folder }: PluginInstance): string {
  return folder === undefined ? '' : `, from ${folder}`;
}
