/** Settings as far as the compiler knows where their author says nothing more. */
export type SettingsValues = Readonly<Record<string, unknown>>;

/**
 * The operator's settings of a plugin: the spec of the PluginSettings object of its name, checked by the schema in its
 * manifest, with that schema's defaults. Without such an object, the defaults alone.
 */
export interface PluginSettings<S extends object = SettingsValues> {
  /** Returns the present settings, deeply frozen; the same object until they change. `{}` when the manifest has no schema. */
  get(): S;
  /**
   * Calls the handler with new settings, each time that a value has changed, until the plugin stops. What a handler
   * throws, or rejects with, is logged. Returns a function that ends it.
   */
  onChange(handler: (settings: S) => unknown): () => void;
}
