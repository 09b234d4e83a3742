import { withDeadline } from '../text/deadline.ts';
import { errorTextWithPlace } from '../text/error-text.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { checkPlugin } from '../sdk/plugin.ts';
import { pluginLogger } from './plugin-logger.ts';
import { pluginDeadlineMs, PluginRun } from './plugin-run.ts';
import type { PluginRunParts } from './plugin-run.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import { nextPhase } from './plugin-state.ts';
import type { PluginEvent, PluginFailure, PluginPhase, PluginState } from './plugin-state.ts';
import type { KindProgress } from './served-kinds.ts';

/** One plugin's life, from its manifest to its end. None of its verbs rejects: what goes wrong is its state. */
export class PluginInstance {
  readonly #source: PluginSource;
  readonly #parts: PluginRunParts;
  readonly #onChange: (instance: PluginInstance) => void;
  readonly #loading = new AbortController();
  #state: PluginState = { phase: 'Created' };
  #indexing: readonly KindProgress[] = [];
  #resolved: Promise<void> | undefined;
  #crash: { readonly error: unknown } | undefined;

  /** `onChange` hears of every phase but the first, and of the progress of indexes. Must not throw. */
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

  /** It holds something that a stop has to take back. */
  get isRunning(): boolean {
    return ['Starting', 'Started', 'Stopping'].includes(this.#state.phase);
  }

  /** It has come to an end of its life; one that comes back is another instance. */
  get hasEnded(): boolean {
    return this.#phase === 'Stopped' || this.#phase === 'Failed';
  }

  /** Loads the plugin's module, once. A top level that throws, or never ends, fails this plugin alone. */
  resolve(): Promise<void> {
    this.#resolved ??= this.#resolve();
    return this.#resolved;
  }

  async #resolve(): Promise<void> {
    if (this.#phase !== 'Created') return;
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

  /** Starts a plugin that is Resolved; leaves it Started or Failed, unless it is stopped meanwhile. */
  async start(): Promise<void> {
    if (this.#state.phase !== 'Resolved') return;
    const run = new PluginRun(this.#source, this.#state.plugin, this.#parts);
    this.#move('start', { phase: 'Starting', run });
    try {
      await run.start();
      if (this.#phase === 'Starting') this.#move('started', { phase: 'Started', run });
    } catch (error) {
      // Who stops it takes back what it holds.
      if (this.#phase !== 'Starting') return;
      await run.stop();
      if (this.#phase === 'Starting') this.fail(error, failureOf(error));
    }
  }

  /** The plugin is Failed for this once it has stopped. */
  noteCrash(error: unknown): void {
    this.#crash ??= { error };
  }

  /**
   * Leaves the plugin Stopped, or Failed when its stop fails or it has crashed; what it had registered is gone either way.
   * Called once.
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

  /** Nothing of it is on its way, and its controllers have nothing to do. */
  isIdle(): boolean {
    const state = this.#state;
    return state.phase === 'Started' ? state.run.isIdle() : this.hasEnded;
  }

  /** A method, since the compiler does not know that a state changes while something is awaited. */
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

/** By its name: the server may be another copy of the package. */
function failureOf(error: unknown): PluginFailure {
  const name = error instanceof Error ? error.name : '';
  if (name === 'SettingsError') return 'SettingsInvalid';
  return name === 'IndexBuildError' ? 'IndexBuildFailed' : 'StartFailed';
}
