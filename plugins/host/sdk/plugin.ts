import type { Admission, Endpoint, IndexCallback, Registration } from '@homeostat/apiserver';
import type { Client, ControllerDefinition } from '@homeostat/controller-runtime';
import type { ApiObject, GroupVersionKind, Logger, Model } from '@homeostat/controller-runtime/api';
import type { PluginExtensions } from './extension-point.ts';
import type { PluginEvents } from './plugin-events.ts';
import type { PluginSettings, SettingsValues } from './plugin-settings.ts';

/**
 * Registers a plugin's kinds (sections 1 and 2.8 of the specification). Its registrations are removed when the plugin
 * stops.
 */
export interface PluginSchemeManager {
  /**
   * Registers a model; `callback` declares its indexes synchronously. A second registration of the same model changes
   * nothing.
   * @throws ModelError that names the wrong attribute and its rule, or the other plugin that has registered the kind.
   * @throws Error after this plugin has stopped.
   */
  register<T extends ApiObject>(model: Model<T>, callback?: IndexCallback<T>): Registration<T>;
  /**
   * Unregisters a kind; its objects stay stored. Returns false when the kind is not registered.
   * @throws ModelError when another plugin has registered it.
   */
  unregister(model: Model | GroupVersionKind): boolean;
  /** Returns the present registrations of this plugin, in the order in which it made them. */
  registered(): readonly Registration[];
}

/**
 * The controllers of a plugin. Controllers that `start` adds begin to work when all kinds of the plugin are indexed and
 * its declared objects are applied; later ones begin at once.
 */
export interface PluginControllers {
  /** Adds a controller. Throws when another controller of the plugin has its name, and after the plugin has stopped. */
  add(definition: ControllerDefinition): void;
  /** Stops a controller; a running reconcile has 30 s to end. Resolves at once when no controller has that name. */
  remove(name: string): Promise<void>;
}

/**
 * The HTTP endpoints of a plugin (section 4.3 of the specification). They respond with 503 until the plugin is Started,
 * and are removed when it stops.
 */
export interface PluginEndpoints {
  /**
   * Adds a router, a controller class, or an instance of a controller class. A controller class without `@ApiVersion`
   * is ignored, with a warning in the log.
   * @throws Error that gives the reason: the router has no group and version, its group is reserved or belongs to
   * another plugin, its path belongs to a kind or another plugin, or this plugin has stopped.
   */
  add(endpoint: Endpoint): void;
}

/** The admission hooks of a plugin, for its own kinds and for the kinds of plugins on which it depends. */
export interface PluginAdmission {
  /**
   * Adds hooks, which apply until the plugin has stopped. Hooks of plugins on which this plugin depends run first.
   * @throws Error when the kind is not registered, when it belongs to a plugin on which this plugin does not depend,
   * and after this plugin has stopped.
   */
  add(admission: Admission): void;
}

/**
 * The interface that the host gives to a plugin. `S` is the type of the plugin's settings; it should match the schema
 * in the manifest.
 */
export interface PluginContext<S extends object = SettingsValues> {
  readonly schemeManager: PluginSchemeManager;
  readonly controllers: PluginControllers;
  readonly endpoints: PluginEndpoints;
  readonly admission: PluginAdmission;
  readonly settings: PluginSettings<S>;
  readonly extensions: PluginExtensions;
  readonly events: PluginEvents;
  /**
   * The client of the plugin, which calls the server inside this process, without HTTP. A request for a kind that is
   * being indexed waits until the kind is served. The server refuses label keys with the service's prefix that this
   * client adds or changes (422; section 2.5 of the specification). The clients of the plugin's controllers have the
   * same rules.
   */
  readonly client: Client;
  /** A logger that adds the plugin's name to each line. */
  readonly logger: Logger;
  /**
   * Aborts when the plugin stops or fails, after its controllers have ended. All other work of the plugin must end when
   * it aborts.
   */
  readonly signal: AbortSignal;
}

/** A plugin in the form of an object; see {@link definePlugin}. */
export interface PluginDefinition<S extends object = SettingsValues> {
  /** The kinds of the plugin. They are registered and indexed before `start` is called. */
  readonly models?: readonly Model[];
  readonly controllers?: readonly ControllerDefinition[];
  /** Routers, controller classes, or instances of controller classes. */
  readonly endpoints?: readonly Endpoint[];
  /**
   * Hooks made by `admit`. The host adds them together with the kinds of `models`, so that no write to these kinds can
   * come before the hooks.
   */
  readonly admission?: readonly Admission[];
  /** Called when the kinds of `models` are indexed. The call has 30 s; an error or a timeout fails only this plugin. */
  start?(context: PluginContext<S>): unknown;
  /**
   * Called when the plugin stops, if `start` has succeeded. If `start` succeeds only after its timeout, or only after
   * the plugin was stopped, `stop` is called then. The call has 30 s. The host itself removes kinds and controllers.
   */
  stop?(): unknown;
}

// A plugin may bring a second copy of this package. Between two copies, instanceof is false, but a symbol from the
// global symbol registry is the same.
const pluginSymbol: symbol = Symbol.for('homeostat.plugin');

/** The base class of plugins in class form. The host makes a new instance for each start. */
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

  /**
   * Called when the plugin starts: register kinds and controllers here. The call has 30 s; an error or a timeout fails
   * only this plugin.
   */
  async start(): Promise<void> {}

  /**
   * Called when the plugin stops, if `start` has succeeded. If `start` succeeds only after its timeout, or only after
   * the plugin was stopped, `stop` is called then. The call has 30 s. The host itself removes kinds and controllers.
   */
  async stop(): Promise<void> {}
}

Object.defineProperty(BasePlugin, pluginSymbol, { value: true });

// The constructor of a plugin in class form. The settings may have any type, because their type depends on the plugin's
// manifest.
export type PluginClass = new (context: PluginContext<never>) => BasePlugin<object>;

/** The default export of a plugin's main file. */
export type Plugin = PluginDefinition<never> | PluginClass;

/** Declares a plugin without a class, and returns it frozen. Throws a TypeError that names every wrong field. */
export function definePlugin<S extends object = SettingsValues>(definition: PluginDefinition<S>): PluginDefinition<S> {
  checkPlugin(definition);
  return Object.freeze({ ...definition });
}

export function isPluginClass(plugin: unknown): plugin is PluginClass {
  return typeof plugin === 'function' && Reflect.get(plugin, pluginSymbol) === true;
}

/** Returns the default export of a module as a plugin. Throws a TypeError when the export is not a plugin. */
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
  if (wanted === undefined) return `"${key}" is unknown; the fields are ${Object.keys(parts).join(', ')}`;
  if (value === undefined) return undefined;
  const isRight = wanted === 'list' ? Array.isArray(value) : typeof value === 'function';
  return isRight ? undefined : `"${key}" must be a ${wanted}`;
}
