import { parseSharedName } from '../text/shared-name.ts';

/** A place where one plugin takes values from others; see {@link defineExtensionPoint}. */
export interface ExtensionPoint<T> {
  readonly name: string;
  /** JSON Schema, in the dialect of models. */
  readonly schema?: object;
  /** Carries the type, and is never there. */
  readonly value?: T;
}

export interface ExtensionPointOptions {
  /** The schema of the values, in the dialect of models. Fields that it does not name may hold anything, also functions. Default: anything. */
  readonly schema?: object;
}

/**
 * Names an extension point `<plugin>/<name>`, of the plugin that declares it. Those that contribute may import it, or define
 * it again: points are the same when their names are. The schema is the one of the plugin that declares it. Frozen.
 * @throws TypeError for a name that is none.
 */
export function defineExtensionPoint<T>(name: string, options: ExtensionPointOptions = {}): ExtensionPoint<T> {
  parseSharedName('an extension point', name);
  const { schema } = options;
  return Object.freeze({ name, ...(schema === undefined ? {} : { schema }) });
}

/** One value, and the plugin that it is from. Frozen; the value is as it was given. */
export interface Contribution<T> {
  readonly plugin: string;
  readonly value: T;
}

/** The contributions of plugins to a point. */
export interface Contributions<T> {
  /**
   * The contributions of Started plugins: those of plugins that others depend on first, each plugin's in the order it made them.
   * Frozen; the same array until something changes.
   */
  list(): readonly Contribution<T>[];
  /**
   * Calls the handler with the new list, each time that it changes, until the plugin stops. What a handler throws, or
   * rejects with, is logged. Returns a function that ends it.
   */
  onChange(handler: (contributions: readonly Contribution<T>[]) => unknown): () => void;
}

/** The extension points of a plugin, and what it contributes to others'. Both are gone when it stops or fails. */
export interface PluginExtensions {
  /**
   * Declares a point of this plugin; in `start`, so that it is there for those that depend on this plugin.
   * @throws Error when its name begins with another plugin, it is declared already, or its schema breaks a rule; once the
   * plugin has stopped.
   */
  declare<T>(point: ExtensionPoint<T>): Contributions<T>;
  /**
   * Adds a value to a point of this plugin, or of one that it depends on. It is seen when this plugin is Started, and at
   * once after that; where the dependency is optional and not Started, when it is. Returns a function that takes it back.
   * @throws Error that names plugin and point: one that this plugin does not depend on, that has no such point, or whose
   * schema the value breaks; once the plugin has stopped.
   */
  contribute<T>(point: ExtensionPoint<T>, value: NoInfer<T>): () => void;
}
