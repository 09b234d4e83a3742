import { parseSharedName } from '../text/shared-name.ts';

/** A point where a plugin accepts values from others; see {@link defineExtensionPoint}. */
export interface ExtensionPoint<T> {
  readonly name: string;
  /** JSON Schema, in the dialect of models. */
  readonly schema?: object;
  /** Absent at run time: it exists for the type of the values. */
  readonly value?: T;
}

export interface ExtensionPointOptions {
  /**
   * The schema of the values, in the dialect of models. Fields that it does not name may have any value, even
   * functions. Default: any value.
   */
  readonly schema?: object;
}

/**
 * Names an extension point `<plugin>/<name>`, of the plugin that declares it. Contributors may import it, or define
 * it again: points with the same name are the same. The declaring plugin's schema counts. Frozen. @throws TypeError
 * for an invalid name.
 */
export function defineExtensionPoint<T>(name: string, options: ExtensionPointOptions = {}): ExtensionPoint<T> {
  parseSharedName('an extension point', name);
  const { schema } = options;
  return Object.freeze({ name, ...(schema === undefined ? {} : { schema }) });
}

/** One value, and its plugin. Frozen; the value itself is unchanged. */
export interface Contribution<T> {
  readonly plugin: string;
  readonly value: T;
}

/** The contributions of plugins to a point. */
export interface Contributions<T> {
  /**
   * The contributions of Started plugins. Plugins come after those that they depend on, and the contributions of a
   * plugin are in the order in which it made them. Frozen; the same array until something changes.
   */
  list(): readonly Contribution<T>[];
  /**
   * Calls the handler with the new list at each change, until the plugin stops. Errors of a handler are logged.
   * Returns a function that removes it.
   */
  onChange(handler: (contributions: readonly Contribution<T>[]) => unknown): () => void;
}

/** The extension points of a plugin, and its contributions to others. Both are removed when it stops or fails. */
export interface PluginExtensions {
  /**
   * Declares a point of this plugin. Call it in `start`, so that the point exists for the plugins that depend on this
   * one. @throws Error when its name begins with another plugin, it is declared already, its schema breaks a rule, or
   * the plugin has stopped.
   */
  declare<T>(point: ExtensionPoint<T>): Contributions<T>;
  /**
   * Adds a value to a point of this plugin, or of one that it depends on. The value is visible once this plugin is
   * Started, and, for an optional dependency, once that plugin is Started, too. Returns a function that removes it.
   * @throws Error that names plugin and point when this plugin does not depend on the other one, or the other one has
   * no point of this name; when the value breaks the point's schema; and once the plugin has stopped.
   */
  contribute<T>(point: ExtensionPoint<T>, value: NoInfer<T>): () => void;
}
