/** Key of the annotation on objects that a plugin has created by its files; the value is its name. */
export function createdByKey(serviceDomain: string): string {
  return `plugin.${serviceDomain}/created-by`;
}

/** Stands in managedFields for what a plugin declares, and for what its code writes. */
export function fieldManagerOf(plugin: string): string {
  return `plugin:${plugin}`;
}
