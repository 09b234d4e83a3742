/** Returns an empty record without a prototype, so that a client's key such as `__proto__` is a key like any other. */
export function bareRecord<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}
