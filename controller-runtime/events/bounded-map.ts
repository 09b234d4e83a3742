/** A map that forgets what was set or got longest ago. */
export class BoundedMap<V> {
  readonly #entries = new Map<string, V>();
  readonly #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** The value of a key, made when there is none, and now the newest. */
  take(key: string, create: () => V): V {
    const value = this.#entries.get(key) ?? create();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#maxSize) this.#entries.delete(this.#entries.keys().next().value as string);
    return value;
  }
}
