import type { Logger } from '@homeostat/controller-runtime/api';
import { withDeadline } from '../text/deadline.ts';
import { errorTextWithPlace } from '../text/error-text.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { checkPlugin } from '../sdk/plugin.ts';
import { pluginDeadlineMs, PluginRun } from './plugin-run.ts';
import type { PluginRunParts } from './plugin-run.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import { nextPhase } from './plugin-state.ts';
import type { PluginEvent, PluginFailure, PluginPhase, PluginState } from './plugin-state.ts';
import type { KindProgress } from './served-kinds.ts';

interface Retirement {
  readonly crash?: { readonly error: unknown } | undefined;
  readonly successor?: PluginSource;
}

/**
 * A plugin from the reading of its manifest until it is Stopped or Failed. No method rejects: after an error, the state
 * is Failed.
 */
export class PluginInstance {
  readonly #source: PluginSource;
  readonly #parts: PluginRunParts;
  readonly #onChange: (instance: PluginInstance) => void;
  readonly #loading = new AbortController();
  #state: PluginState = { phase: 'Created' };
  #indexing: readonly KindProgress[] = [];
  #isLoading = false;
  #isRetired = false;
  #crash: Retirement['crash'];
  #successor: PluginSource | undefined;

  /** `onChange` is called for every phase except the first, and for the progress of indexes. It must not throw. */
  constructor(source: PluginSource, parts: PluginRunParts, onChange: (instance: PluginInstance) => void) {
    this.#source = source;
    this.#onChange = onChange;
    const onProgress = (indexing: readonly KindProgress[]): void => {
      this.#indexing = indexing;
      onChange(this);
    };
    this.#parts = { ...parts, logger: pluginLogger(parts.logger, source.manifest.name), onProgress };
  }

  get source(): PluginSource {
    return this.#source;
  }

  get manifest(): PluginManifest {
    return this.#source.manifest;
  }

  get folder(): string | undefined {
    return this.#source.folder;
  }

  get state(): PluginState {
    return this.#state;
  }

  /** The kinds whose indexes are being built. */
  get indexing(): readonly KindProgress[] {
    return this.#indexing;
  }

  /** True when the module of the plugin is being loaded, or has been loaded. */
  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** True when this instance must stop, even if the plugin is enabled. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** The source of the instance that replaces this one; undefined if none replaces it. */
  get successor(): PluginSource | undefined {
    return this.#successor;
  }

  /** True when the instance has resources that a stop must release. */
  get isRunning(): boolean {
    return ['Starting', 'Started', 'Stopping'].includes(this.#state.phase);
  }

  /** True when the instance is Stopped or Failed, which is final: a plugin that starts again is a new instance. */
  get hasEnded(): boolean {
    return this.#phase === 'Stopped' || this.#phase === 'Failed';
  }

  /**
   * Loads the plugin's module; called once. When the top level of the module throws or never ends, only this plugin
   * fails.
   */
  async load(): Promise<void> {
    this.#isLoading = true;
    const { clock } = this.#parts;
    try {
      const exported = await withDeadline(async () => this.#source.load(), {
        what: 'loading its module',
        timeoutMs: pluginDeadlineMs,
        clock,
        signal: this.#loading.signal,
      });
      const plugin = checkPlugin(exported);
      if (this.#phase === 'Created') this.#move('resolve', { phase: 'Resolved', plugin });
    } catch (error) {
      if (this.#phase === 'Created') this.fail(error, 'LoadFailed');
    }
  }

  /** Starts a plugin that is Resolved. It is Started or Failed afterwards, unless it is stopped meanwhile. */
  async start(): Promise<void> {
    if (this.#state.phase !== 'Resolved') return;
    const run = new PluginRun(this.#source, this.#state.plugin, this.#parts);
    this.#move('start', { phase: 'Starting', run });
    try {
      await run.start();
      if (this.#phase === 'Starting') this.#move('started', { phase: 'Started', run });
    } catch (error) {
      // If the phase is no longer Starting, stop() was called meanwhile. It has called run.stop(), so this method must
      // not call run.stop() again.
      if (this.#phase !== 'Starting') return;
      await run.stop();
      if (this.#phase === 'Starting') this.fail(error, failureOf(error));
    }
  }

  /**
   * Called when this instance must stop, because its files will be read again, because a `successor` replaces it, or
   * because it has crashed. After a crash, it ends as Failed.
   */
  retire({ crash, successor }: Retirement = {}): void {
    this.#isRetired = true;
    this.#crash ??= crash;
    this.#successor = successor ?? this.#successor;
  }

  /**
   * Stops the plugin, and releases everything that it has registered. The phase is then Stopped, or Failed after a
   * crash or a failed stop. Called once.
   */
  async stop(): Promise<void> {
    const state = this.#state;
    this.#loading.abort();
    if (state.phase === 'Created' || state.phase === 'Resolved') this.#move('stop', { phase: 'Stopped' });
    if (state.phase !== 'Starting' && state.phase !== 'Started') return;
    this.#move('stop', { phase: 'Stopping', run: state.run });
    const problem = await state.run.stop();
    if (this.#crash !== undefined) this.fail(this.#crash.error, 'Crashed');
    else if (problem === undefined) this.#move('stopped', { phase: 'Stopped' });
    else this.fail(problem, 'StopFailed');
  }

  fail(error: unknown, failure: PluginFailure): void {
    const reason = errorTextWithPlace(error, this.folder);
    this.#parts.logger.error(error instanceof Error ? { err: error } : { reason }, 'plugin failed');
    this.#move('fail', { phase: 'Failed', failure, reason });
  }

  /** True when the instance has ended, or when it is Started and its controllers have no work. */
  isIdle(): boolean {
    const state = this.#state;
    return state.phase === 'Started' ? state.run.isIdle() : this.hasEnded;
  }

  /** This is a getter, because TypeScript assumes that a field does not change during an await. */
  get #phase(): PluginPhase {
    return this.#state.phase;
  }

  #move(event: PluginEvent, state: PluginState): void {
    const phase = nextPhase(this.#state.phase, event);
    if (phase !== state.phase) throw new Error(`${event} leads to ${phase}, not to ${state.phase}`);
    this.#state = state;
    if (phase !== 'Failed') this.#parts.logger.info({ version: this.manifest.version }, `plugin is ${phase}`);
    this.#onChange(this);
  }
}

/**
 * Returns the kind of failure for the error of a start. Compares names of errors instead of classes, because the server
 * may use another copy of the package.
 */
function failureOf(error: unknown): PluginFailure {
  const name = error instanceof Error ? error.name : '';
  if (name === 'SettingsError') return 'SettingsInvalid';
  return name === 'IndexBuildError' ? 'IndexBuildFailed' : 'StartFailed';
}

/** A logger that adds the plugin's name to each line. */
function pluginLogger(logger: Logger, plugin: string): Logger {
  return {
    debug: (fields, message) => logger.debug({ plugin, ...fields }, message),
    info: (fields, message) => logger.info({ plugin, ...fields }, message),
    warn: (fields, message) => logger.warn({ plugin, ...fields }, message),
    error: (fields, message) => logger.error({ plugin, ...fields }, message),
  };
}
