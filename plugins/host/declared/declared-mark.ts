/** The key of the annotation on objects that a plugin has created from its files; the value is the plugin's name. */
export function createdByKey(serviceDomain: string): string {
  return `plugin.${serviceDomain}/created-by`;
}

/** Returns the field manager of a plugin, for its declared objects and for the writes of its code. */
export function fieldManagerOf(plugin: string): string {
  return `plugin:${plugin}`;
}
