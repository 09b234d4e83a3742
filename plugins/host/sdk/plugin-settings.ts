/** The type of settings for which the author gives no type. */
export type SettingsValues = Readonly<Record<string, unknown>>;

/**
 * The operator's settings of a plugin: the spec of the PluginSettings object of its name, checked by the schema in its
 * manifest, with that schema's defaults. Without such an object, the defaults alone.
 */
export interface PluginSettings<S extends object = SettingsValues> {
  /** Returns the present settings, deeply frozen; the same object until they change. `{}` when the manifest has no schema. */
  get(): S;
  /**
   * Calls the handler with new settings each time a value has changed, until the plugin stops. Errors of a handler
   * are logged. Returns a function that removes it.
   */
  onChange(handler: (settings: S) => unknown): () => void;
}
