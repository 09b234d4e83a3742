/** The type of settings when the author of the plugin gives no other type. */
export type SettingsValues = Readonly<Record<string, unknown>>;

/**
 * The settings of a plugin: the spec of the PluginSettings object with the plugin's name, validated by the schema in
 * the plugin's manifest, with the defaults of the schema. Without such an object, they are only the defaults.
 */
export interface PluginSettings<S extends object = SettingsValues> {
  /**
   * Returns the present settings: a deeply frozen object, and the same one until the settings change. Returns `{}` when
   * the manifest has no schema.
   */
  get(): S;
  /**
   * Calls the handler with the new settings each time a value has changed, until the plugin stops. Errors of the
   * handler are logged. Returns a function that removes the handler.
   */
  onChange(handler: (settings: S) => unknown): () => void;
}
