/** The fields of an object, without those that are undefined. */
export type Present<T> = { readonly [K in keyof T]?: NonNullable<T[K]> };

/** Returns the fields that have a value. */
export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>;
}
