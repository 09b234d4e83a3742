import type {
  Admission,
  ApiServer,
  Endpoint,
  OwnedAdmission,
  OwnedEndpoints,
  OwnedScheme,
  PluginClient,
} from '@homeostat/apiserver';
import type { ControllerDefinition, Reporter } from '@homeostat/controller-runtime';
import { apiVersionOf, descriptorOf } from '@homeostat/controller-runtime/api';
import type { Clock, GroupVersionKind, Logger, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { Metrics } from '@homeostat/controller-runtime/telemetry';
import { applyDeclaredObjects } from '../declared/apply-declared-objects.ts';
import { orAbort, withDeadline } from '../text/deadline.ts';
import { isDeclaredObject } from '../declared/declared-object.ts';
import { createdByKey } from '../declared/declared-mark.ts';
import { ElectedControllers } from './elected-controllers.ts';
import type { LeaseTimes } from './elected-controllers.ts';
import { errorText } from '../text/error-text.ts';
import type { EventBus, OwnedEvents } from '../exchange/event-bus.ts';
import type { ExtensionTable, OwnedExtensions } from '../exchange/extension-table.ts';
import { BlockedDeletions } from './blocked-deletions.ts';
import { withModelPlace } from '../text/model-place.ts';
import { PluginPermissions } from './plugin-permissions.ts';
import { applyRoles } from './plugin-roles.ts';
import type { PluginManager } from './controllers-page.ts';
import { isPluginClass } from '../sdk/plugin.ts';
import type { Plugin, PluginContext, PluginDefinition, PluginSchemeManager } from '../sdk/plugin.ts';
import type { PluginSettings } from '../sdk/plugin-settings.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import { awaitServed } from './served-kinds.ts';
import type { KindProgress } from './served-kinds.ts';
import type { SettingsObjects } from '../settings/settings-objects.ts';
import type { SettingsRun } from '../settings/settings-run.ts';

/** The time limit of a plugin's `start` and `stop`, and of loading its module. */
export const pluginDeadlineMs = 30_000;

export interface PluginRunParts {
  readonly server: Pick<
    ApiServer,
    | 'schemeManager'
    | 'endpoints'
    | 'admissions'
    | 'assets'
    | 'client'
    | 'createPluginClient'
    | 'metrics'
    | 'whenReady'
    | 'indexingProgress'
  >;
  readonly settings: Pick<SettingsObjects, 'forRun'>;
  readonly extensions: ExtensionTable;
  readonly events: EventBus;
  readonly clock: Clock;
  /**
   * The lease times of the plugin's controllers. With them, the controllers work in only one of the processes that
   * share the database; without them, in each process.
   */
  readonly leaderElection?: LeaseTimes;
  /** Reports what the plugin's controllers do. When absent, nothing is reported. */
  readonly reporter?: Reporter;
  /** The logger of the plugin. */
  readonly logger: Logger;
  /** Called with the kinds that are being indexed; see `onProgress` of {@link awaitServed}. */
  readonly onProgress?: (progress: readonly KindProgress[]) => void;
}

/**
 * One start and stop of a plugin, and everything that the plugin has in between: its kinds, controllers, endpoints and
 * signal. Each run has its own manager, so that the controllers of different plugins may have the same name, and a
 * failure does not affect other plugins.
 */
export class PluginRun {
  readonly #source: PluginSource;
  readonly #plugin: Plugin;
  readonly #parts: PluginRunParts;
  readonly #scheme: OwnedScheme;
  readonly #endpoints: OwnedEndpoints;
  readonly #settings: SettingsRun;
  readonly #extensions: OwnedExtensions;
  readonly #events: OwnedEvents;
  readonly #admission: OwnedAdmission;
  readonly #permissions: PluginPermissions;
  readonly #client: PluginClient;
  readonly #manager: ElectedControllers;
  readonly #controllers: ControllerDefinition[] = [];
  readonly #held = new BlockedDeletions();
  readonly #abort = new AbortController();
  /** Aborted when the stop begins, so that the controllers end. The stop aborts `#abort` when they have ended. */
  readonly #stopping = new AbortController();
  #contested: readonly string[] = [];
  #closeAssets: (() => void) | undefined;
  #managed: Promise<void> | undefined;
  #stopHook: (() => unknown) | undefined;
  #stopped: Promise<string | undefined> | undefined;

  constructor(source: PluginSource, plugin: Plugin, parts: PluginRunParts) {
    const { name, group, revision, dependencies } = source.manifest;
    this.#source = source;
    this.#plugin = plugin;
    this.#parts = parts;
    const owned = group === undefined ? {} : { group };
    this.#scheme = parts.server.schemeManager.forOwner(name, owned);
    this.#endpoints = parts.server.endpoints.forOwner(name, { ...owned, revision });
    this.#settings = parts.settings.forRun(name, parts.logger);
    this.#extensions = parts.extensions.forPlugin(source.manifest, parts.logger);
    this.#events = parts.events.forPlugin(parts.logger);
    this.#permissions = new PluginPermissions({
      manifest: source.manifest,
      registered: () => this.#registeredModels(),
    });
    this.#client = parts.server.createPluginClient(name, this.#permissions);
    this.#admission = parts.server.admissions.forOwner(name, {
      client: this.#client,
      dependencies: dependencies.map((each) => each.name),
    });
    const { clock, logger, leaderElection: times } = parts;
    const lease = `${name}.plugin.${parts.server.schemeManager.serviceDomain}`;
    const leaderElection = times === undefined ? {} : { leaderElection: { ...times, name: lease } };
    const metrics = new Metrics({ metrics: parts.server.metrics, labels: { plugin: name } });
    const report = parts.reporter === undefined ? {} : { report: { name, by: parts.reporter } };
    this.#manager = new ElectedControllers({
      client: this.#client,
      clock,
      logger,
      metrics,
      ...leaderElection,
      ...report,
    });
  }

  /**
   * Registers the plugin's kinds, waits for their indexes, calls the plugin's start, applies its declared objects,
   * starts its controllers, and opens its endpoints. Rejects when a step fails, or when `stop` is called.
   */
  async start(): Promise<void> {
    const definition: PluginDefinition<never> = isPluginClass(this.#plugin) ? {} : this.#plugin;
    try {
      await this.#start(definition);
    } catch (error) {
      throw withModelPlace(error, definition.models ?? [], this.#source.folder);
    }
  }

  async #start(definition: PluginDefinition<never>): Promise<void> {
    for (const model of definition.models ?? []) this.#scheme.register(model);
    // Hooks are added in the same turn of the event loop as the kinds, so that no client can have written to these
    // kinds yet.
    for (const admission of definition.admission ?? []) this.#addAdmission(admission);
    for (const each of definition.controllers ?? []) this.#addController(each);
    for (const endpoint of definition.endpoints ?? []) this.#addEndpoint(endpoint);
    await orAbort(applyRoles(this.#source.manifest, this.#parts), this.#signal);
    await orAbort(this.#settings.refresh(), this.#signal);
    await this.#awaitServed(this.#registered());
    await this.#callStart();
    await this.#awaitServed(this.#registered());
    await this.#applyObjects();
    await this.#startControllers();
    const assets = await this.#source.assets();
    this.#stopping.signal.throwIfAborted();
    if (assets !== undefined) this.#closeAssets = this.#parts.server.assets.open(this.#source.manifest.name, assets);
    this.#endpoints.open();
    this.#extensions.open();
  }

  /**
   * Ends the run in this order: closes endpoints, ends controllers (a running reconcile has 30 s), aborts the signal,
   * calls the plugin's stop, and unregisters its kinds. Never rejects; resolves with the text of an error. If
   * {@link start} is still running, its promise rejects.
   */
  stop(): Promise<string | undefined> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** True when no controller of the plugin has work. Delayed keys do not count as work. */
  isIdle(): boolean {
    return this.#managed === undefined || this.#manager.isIdle();
  }

  /** The fields of the plugin's declared objects that the host did not apply, because other managers changed them. */
  get contested(): readonly string[] {
    return this.#contested;
  }

  /** The deletions that wait for the plugin's finalizers, counted when the plugin stops. */
  get held(): BlockedDeletions {
    return this.#held;
  }

  /** The manager of the plugin's controllers. */
  get manager(): PluginManager {
    return this.#manager;
  }

  get #signal(): AbortSignal {
    return this.#abort.signal;
  }

  async #stop(): Promise<string | undefined> {
    // Endpoints are closed first, so that no request reaches a half-stopped plugin.
    this.#endpoints.close();
    this.#closeAssets?.();
    this.#extensions.close();
    this.#settings.close();
    this.#stopping.abort(new Error('the plugin is being stopped'));
    await this.#managed;
    await this.#countBlocked();
    this.#events.close();
    this.#abort.abort(this.#stopping.signal.reason);
    const problems = [await this.#callStop(), ...this.#unregisterAll()].filter((problem) => problem !== undefined);
    // Hooks are removed after the kinds, because a kind must not be written without its hooks.
    this.#admission.close();
    return problems.length === 0 ? undefined : problems.join('; ');
  }

  async #callStart(): Promise<void> {
    const context = this.#createContext();
    const bounds = { timeoutMs: pluginDeadlineMs, clock: this.#parts.clock, signal: this.#signal };
    const plugin = isPluginClass(this.#plugin) ? new this.#plugin(context) : this.#plugin;
    this.#signal.throwIfAborted();
    const starting = (async () => plugin.start?.(context))();
    const stopHook = (): unknown => plugin.stop?.();
    try {
      await withDeadline(async () => starting, { ...bounds, what: 'start' });
      this.#stopHook = stopHook;
    } catch (error) {
      void this.#stopLate(starting, stopHook);
      throw error;
    }
  }

  /**
   * Waits for a `start` that has timed out, or that the stop of the plugin has interrupted. If this `start` completes,
   * calls the plugin's `stop`, because only the plugin can release the resources that its `start` acquired.
   */
  async #stopLate(starting: Promise<unknown>, stopHook: () => unknown): Promise<void> {
    try {
      await starting;
    } catch {
      // `start` failed, so `stop` is not called. `#callStart` has thrown this error, or that of a time-out or stop.
      return;
    }
    this.#stopHook = stopHook;
    await this.#callStop();
  }

  /**
   * Counts the deletions that wait for the plugin's finalizers. `#stop` calls this method before it unregisters the
   * plugin's kinds, because objects of an unregistered kind cannot be counted. An error is only logged.
   */
  async #countBlocked(): Promise<void> {
    const { server, clock, logger } = this.#parts;
    const bounds = { what: 'counting blocked deletions', timeoutMs: pluginDeadlineMs, clock };
    try {
      await withDeadline(async () => this.#held.count(this.#client, server), bounds);
    } catch (err) {
      logger.warn({ err }, "could not count the deletions that the plugin's finalizers block");
    }
  }

  async #callStop(): Promise<string | undefined> {
    const hook = this.#stopHook;
    if (hook === undefined) return undefined;
    this.#stopHook = undefined;
    try {
      await withDeadline(async () => hook(), { what: 'stop', timeoutMs: pluginDeadlineMs, clock: this.#parts.clock });
      return undefined;
    } catch (err) {
      this.#parts.logger.error({ err }, 'the stop of a plugin failed; all that the plugin registered is removed');
      return errorText(err);
    }
  }

  #createContext(): PluginContext<never> {
    const { logger } = this.#parts;
    return Object.freeze({
      schemeManager: this.#guardedScheme(),
      controllers: Object.freeze({
        add: (definition: ControllerDefinition) => this.#addController(definition),
        remove: (name: string) => this.#manager.remove(name),
      }),
      endpoints: Object.freeze({ add: (endpoint: Endpoint) => this.#addEndpoint(endpoint) }),
      settings: this.#settings.settings() as PluginSettings<never>,
      extensions: this.#extensions.extensions,
      events: this.#events.events(),
      admission: Object.freeze({ add: (admission: Admission) => this.#addAdmission(admission) }),
      client: this.#client,
      logger,
      signal: this.#signal,
    });
  }

  /** Returns a scheme manager that refuses registrations after the stop: a start may still run after its timeout. */
  #guardedScheme(): PluginSchemeManager {
    return Object.freeze<PluginSchemeManager>({
      register: (model, callback) => {
        this.#signal.throwIfAborted();
        const registration = this.#scheme.register(model, callback);
        if (this.#managed !== undefined) this.#followLate(registration.descriptor);
        return registration;
      },
      unregister: (model) => this.#scheme.unregister(model),
      registered: () => this.#scheme.registered(),
    });
  }

  /**
   * Logs an error when the index of a kind cannot be built. Called for each kind that is registered after the
   * controllers have started, because the start waits only for the indexes of earlier kinds.
   */
  #followLate(kind: GroupVersionKind): void {
    this.#parts.server.whenReady(kind).catch((err: unknown) => {
      if (!this.#signal.aborted) this.#parts.logger.error({ err, kind: kind.kind }, 'a kind could not be indexed');
    });
  }

  #addController(definition: ControllerDefinition): void {
    this.#signal.throwIfAborted();
    this.#permissions.addRead(kindsOf(definition).map(descriptorOf));
    this.#permissions.addController(definition.name);
    this.#manager.add(definition);
    this.#controllers.push(definition);
    this.#held.add(definition);
  }

  #addEndpoint(endpoint: Endpoint): void {
    this.#signal.throwIfAborted();
    this.#endpoints.add(endpoint);
  }

  #addAdmission(admission: Admission): void {
    this.#signal.throwIfAborted();
    this.#admission.add(admission);
  }

  #registered(): readonly GroupVersionKind[] {
    return this.#registeredModels();
  }

  #registeredModels(): readonly ModelDescriptor[] {
    return this.#scheme.registered().map(({ descriptor }) => descriptor);
  }

  async #awaitServed(kinds: readonly GroupVersionKind[]): Promise<void> {
    await awaitServed(kinds, { ...this.#parts, signal: this.#stopping.signal });
  }

  async #applyObjects(): Promise<void> {
    const { schemeManager } = this.#parts.server;
    const lookup = (gvk: GroupVersionKind): ModelDescriptor | undefined => schemeManager.lookup(gvk)?.descriptor;
    const declared = await this.#source.declaredObjects();
    this.#permissions.addApplied(declared.flatMap((each) => (isDeclaredObject(each) ? (lookup(each.gvk) ?? []) : [])));
    this.#contested = await applyDeclaredObjects(declared, {
      client: this.#client,
      lookup,
      createdBy: createdByKey(schemeManager.serviceDomain),
      plugin: this.#source.manifest.name,
      signal: this.#stopping.signal,
    });
  }

  async #startControllers(): Promise<void> {
    for (const definition of this.#controllers) {
      const kinds = kindsOf(definition);
      for (const kind of kinds) this.#requireRegistered(definition.name, kind);
      await this.#awaitServed(kinds);
    }
    this.#managed = this.#manager.run(this.#stopping.signal);
  }

  #requireRegistered(controller: string, kind: GroupVersionKind): void {
    if (this.#parts.server.schemeManager.lookup(kind) !== undefined) return;
    const name = `${apiVersionOf(kind)} ${kind.kind}`;
    const advice = 'register the kind, or depend on the plugin that registers it';
    throw new Error(`controller "${controller}": ${name} is not registered: ${advice}`);
  }

  #unregisterAll(): readonly string[] {
    return this.#scheme
      .registered()
      .toReversed()
      .flatMap(({ descriptor }) => {
        try {
          this.#scheme.unregister(descriptor);
          return [];
        } catch (err) {
          this.#parts.logger.error({ err, kind: descriptor.kind }, 'could not unregister a kind of a plugin');
          return [errorText(err)];
        }
      });
  }
}

/** The kinds that a controller reads. */
function kindsOf({ model, owns, watches }: ControllerDefinition): readonly ModelDescriptor[] {
  return [model, ...[...owns, ...watches].map((followed) => followed.model)];
}
