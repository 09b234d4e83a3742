/** Key of the annotation on objects that a plugin has created by its files; the value is its name. */
export function createdByKey(serviceDomain: string): string {
  return `plugin.${serviceDomain}/created-by`;
}

/** The names in managedFields of a plugin's declared objects, and of the writes of its code. */
export function fieldManagerOf(plugin: string): string {
  return `plugin:${plugin}`;
}
