import { parseSharedName } from '../text/shared-name.ts';

/** A place where a plugin accepts values from other plugins; see {@link defineExtensionPoint}. */
export interface ExtensionPoint<T> {
  readonly name: string;
  /** The JSON Schema of the values that plugins contribute, in the dialect of models. */
  readonly schema?: object;
  /** Always absent at run time; it only carries the type of the values. */
  readonly value?: T;
}

export interface ExtensionPointOptions {
  /**
   * The schema of the values, in the dialect of models. Fields that the schema does not name may have any value, even
   * functions. Default: any value is allowed.
   */
  readonly schema?: object;
}

/**
 * Defines an extension point with the name `<plugin>/<name>`, where `<plugin>` is the plugin that declares it.
 * Contributing plugins may import the point, or define it again: points with the same name are the same. Only the
 * schema of the declaring plugin is used. The point is frozen.
 * @throws TypeError for an invalid name.
 */
export function defineExtensionPoint<T>(name: string, options: ExtensionPointOptions = {}): ExtensionPoint<T> {
  parseSharedName('an extension point', name);
  const { schema } = options;
  return Object.freeze({ name, ...(schema === undefined ? {} : { schema }) });
}

/** A contributed value, and the plugin that contributed it. The contribution is frozen, but its value is not. */
export interface Contribution<T> {
  readonly plugin: string;
  readonly value: T;
}

/** The contributions of all plugins to an extension point. */
export interface Contributions<T> {
  /**
   * Returns the contributions of Started plugins. The contributions of a plugin come after those of its dependencies.
   * The contributions of one plugin are in the order in which it made them. The array is frozen, and the same until the
   * contributions change.
   */
  list(): readonly Contribution<T>[];
  /**
   * Calls the handler with the new list at each change, until the plugin stops. Errors of the handler are logged.
   * Returns a function that removes the handler.
   */
  onChange(handler: (contributions: readonly Contribution<T>[]) => unknown): () => void;
}

/** The extension points of a plugin, and its contributions to others. Both are removed when it stops or fails. */
export interface PluginExtensions {
  /**
   * Declares an extension point of this plugin. Call it in `start`, so that the point exists before dependent plugins
   * start.
   * @throws Error when the name begins with another plugin's name, the point is declared already, its schema breaks a
   * rule, or this plugin has stopped.
   */
  declare<T>(point: ExtensionPoint<T>): Contributions<T>;
  /**
   * Contributes a value to an extension point of this plugin, or of a plugin on which it depends. The value is visible
   * once this plugin is Started; if the other plugin is an optional dependency, once both are Started. Returns a
   * function that removes the value.
   * @throws Error that names plugin and point, when this plugin does not depend on the other plugin, when the other
   * plugin does not declare the point, and when the value breaks the schema of the point.
   * @throws Error after this plugin has stopped.
   */
  contribute<T>(point: ExtensionPoint<T>, value: NoInfer<T>): () => void;
}
