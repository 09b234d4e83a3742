import type { Admission, Endpoint, IndexCallback, Registration } from '@homeostat/apiserver';
import type { Client, ControllerDefinition } from '@homeostat/controller-runtime';
import type { ApiObject, GroupVersionKind, Logger, Model } from '@homeostat/controller-runtime/api';
import type { PluginExtensions } from './extension-point.ts';
import type { PluginEvents } from './plugin-events.ts';
import type { PluginSettings, SettingsValues } from './plugin-settings.ts';

/** Registers a plugin's kinds (spec 1 and 2.8). Its registrations are removed when it stops. */
export interface PluginSchemeManager {
  /**
   * Registers a model; `callback` declares its indexes, synchronously. The same model again changes nothing.
   * @throws ModelError that names attribute and rule, or the plugin that has the kind; Error once the plugin has stopped.
   */
  register<T extends ApiObject>(model: Model<T>, callback?: IndexCallback<T>): Registration<T>;
  /**
   * Unregisters a kind, whose objects stay stored; false when it is not registered. @throws ModelError when
   * another plugin has registered it.
   */
  unregister(model: Model | GroupVersionKind): boolean;
  /** The present registrations of this plugin, in order. */
  registered(): readonly Registration[];
}

/**
 * The controllers of a plugin. Controllers that `start` adds work once all its kinds are indexed; later ones at once.
 */
export interface PluginControllers {
  /** Adds a controller. Throws when there is one of that name, and once the plugin has stopped. */
  add(definition: ControllerDefinition): void;
  /** Stops a controller, whose runs have 30 s to end; resolves at once when there is none of that name. */
  remove(name: string): Promise<void>;
}

/**
 * The HTTP endpoints of a plugin (spec 4.3). They respond with 503 until the plugin is Started, and are removed when it
 * stops.
 */
export interface PluginEndpoints {
  /**
   * Adds a router, a controller's class, or an instance of one. A controller without `@ApiVersion` is ignored, with a warning.
   * @throws Error with the reason: no group and version, a group that is not the plugin's, a path that a
   * kind or another plugin has; or that the plugin has stopped.
   */
  add(endpoint: Endpoint): void;
}

/** The admission hooks of a plugin, for its own kinds and for those of plugins that it depends on. */
export interface PluginAdmission {
  /**
   * Adds hooks, from now on until the plugin has stopped. Hooks of plugins that this one depends on come first.
   * @throws Error when the kind is not registered, or belongs to another plugin; or this one has stopped.
   */
  add(admission: Admission): void;
}

/** The host's interface for a plugin; `S` is the type of its settings, as the schema in its manifest says. */
export interface PluginContext<S extends object = SettingsValues> {
  readonly schemeManager: PluginSchemeManager;
  readonly controllers: PluginControllers;
  readonly endpoints: PluginEndpoints;
  readonly admission: PluginAdmission;
  readonly settings: PluginSettings<S>;
  readonly extensions: PluginExtensions;
  readonly events: PluginEvents;
  /**
   * The client of the plugin, which calls the server in its process. A verb on a kind that is being indexed waits until
   * the kind is served. Label keys that the client adds or changes need a prefix other than the service's (422; spec
   * 2.5). The same holds for the clients of the plugin's controllers.
   */
  readonly client: Client;
  /** A logger that adds the plugin's name to each line. */
  readonly logger: Logger;
  /**
   * Aborts when the plugin stops or fails, after its controllers have ended. All other work of the plugin must end
   * then.
   */
  readonly signal: AbortSignal;
}

/** A plugin as an object; see {@link definePlugin}. */
export interface PluginDefinition<S extends object = SettingsValues> {
  /** The kinds of the plugin. They are registered and indexed before `start` is called. */
  readonly models?: readonly Model[];
  readonly controllers?: readonly ControllerDefinition[];
  /** Routers, controllers' classes, or instances of them. */
  readonly endpoints?: readonly Endpoint[];
  /** Hooks made by `admit`. They apply before the first write to a kind of `models`. */
  readonly admission?: readonly Admission[];
  /** Called when the kinds are indexed. It has 30 s; an error or a time-out fails only this plugin. */
  start?(context: PluginContext<S>): unknown;
  /**
   * Called when the plugin stops, if `start` has succeeded, even after the host had given it up. It has 30 s. The host
   * itself removes kinds and controllers.
   */
  stop?(): unknown;
}

// Plugins may bring a second copy of this package, for which instanceof is false; a symbol of the global registry
// works for all copies.
const pluginSymbol: symbol = Symbol.for('homeostat.plugin');

/** Base of plugins in class form. The host makes one instance per start. */
export class BasePlugin<S extends object = SettingsValues> implements PluginContext<S> {
  readonly schemeManager: PluginSchemeManager;
  readonly controllers: PluginControllers;
  readonly endpoints: PluginEndpoints;
  readonly settings: PluginSettings<S>;
  readonly extensions: PluginExtensions;
  readonly events: PluginEvents;
  readonly admission: PluginAdmission;
  readonly client: Client;
  readonly logger: Logger;
  readonly signal: AbortSignal;

  constructor(context: PluginContext<S>) {
    this.schemeManager = context.schemeManager;
    this.controllers = context.controllers;
    this.endpoints = context.endpoints;
    this.settings = context.settings;
    this.extensions = context.extensions;
    this.events = context.events;
    this.admission = context.admission;
    this.client = context.client;
    this.logger = context.logger;
    this.signal = context.signal;
  }

  /** Register kinds and controllers here. It has 30 s; an error or a time-out fails only this plugin. */
  async start(): Promise<void> {}

  /**
   * Called when the plugin stops, if `start` has succeeded, even after the host had given it up. It has 30 s. The host
   * itself removes kinds and controllers.
   */
  async stop(): Promise<void> {}
}

Object.defineProperty(BasePlugin, pluginSymbol, { value: true });

// The constructor of a plugin in class form. It takes settings of any type, because their type depends on the
// plugin's manifest.
export type PluginClass = new (context: PluginContext<never>) => BasePlugin<object>;

/** The default export of a plugin's main file. */
export type Plugin = PluginDefinition<never> | PluginClass;

/** Declares a plugin without a class. Frozen. Throws TypeError that names every part that is wrong. */
export function definePlugin<S extends object = SettingsValues>(definition: PluginDefinition<S>): PluginDefinition<S> {
  checkPlugin(definition);
  return Object.freeze({ ...definition });
}

export function isPluginClass(plugin: unknown): plugin is PluginClass {
  return typeof plugin === 'function' && Reflect.get(plugin, pluginSymbol) === true;
}

/** Returns the export of a module as a plugin. Throws TypeError when it is not one. */
export function checkPlugin(exported: unknown): Plugin {
  if (isPluginClass(exported)) return exported;
  if (typeof exported === 'function') throw new TypeError(`the class ${exported.name} must extend BasePlugin`);
  if (typeof exported !== 'object' || exported === null)
    throw new TypeError('a plugin is a class that extends BasePlugin, or the result of definePlugin');
  const problems = Object.entries(exported).flatMap(([key, value]) => problemOf(key, value) ?? []);
  if (problems.length > 0) throw new TypeError(`not a plugin: ${problems.join('; ')}`);
  return exported;
}

const parts: Readonly<Record<string, 'list' | 'function'>> = {
  models: 'list',
  controllers: 'list',
  endpoints: 'list',
  admission: 'list',
  start: 'function',
  stop: 'function',
};

function problemOf(key: string, value: unknown): string | undefined {
  const wanted = Object.hasOwn(parts, key) ? parts[key] : undefined;
  if (wanted === undefined) return `"${key}" is unknown; there are ${Object.keys(parts).join(', ')}`;
  if (value === undefined) return undefined;
  const isRight = wanted === 'list' ? Array.isArray(value) : typeof value === 'function';
  return isRight ? undefined : `"${key}" must be a ${wanted}`;
}
