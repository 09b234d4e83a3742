/** The limits of a cache, and a function that is called for each removed value. */
export interface LruCacheOptions<K, V> {
  /** The maximum number of entries. Default: no limit. */
  readonly maxEntries?: number;
  /**
   * The maximum sum of the sizes of all entries. A single entry that is larger than this is not stored. Default: no
   * limit.
   */
  readonly maxSize?: number;
  /**
   * Returns the size of a value in the unit of `maxSize`, such as bytes. It is called once for each value that is set.
   * Default: 1 for each entry.
   */
  readonly sizeOf?: (value: V, key: K) => number;
  /**
   * Called with each value that leaves the cache (dropped to make space, replaced, deleted or cleared), and with each
   * value that is too large to be stored.
   */
  readonly onRemove?: (value: V) => void;
}

interface Node<K, V> {
  readonly key: K;
  value: V;
  size: number;
  /** The neighbours in the order of last use: `older` was used just before this entry, and `newer` just after it. */
  older: Node<K, V> | undefined;
  newer: Node<K, V> | undefined;
}

/**
 * A map with limits: when it is full, it drops the least recently used entries. Each method takes constant time for
 * each entry that it reads, changes or drops. Memory is needed only for the existing entries, not for `maxEntries`.
 */
export class LruCache<K, V> {
  readonly #nodes = new Map<K, Node<K, V>>();
  readonly #maxEntries: number;
  readonly #maxSize: number;
  readonly #sizeOf: (value: V, key: K) => number;
  readonly #onRemove: ((value: V) => void) | undefined;
  #oldest: Node<K, V> | undefined;
  #newest: Node<K, V> | undefined;
  #totalSize = 0;

  constructor({ maxEntries = Infinity, maxSize = Infinity, sizeOf = () => 1, onRemove }: LruCacheOptions<K, V> = {}) {
    this.#maxEntries = maxEntries;
    this.#maxSize = maxSize;
    this.#sizeOf = sizeOf;
    this.#onRemove = onRemove;
  }

  /** Returns the number of entries. */
  get size(): number {
    return this.#nodes.size;
  }

  /** Returns the sum of the sizes of all entries. */
  get totalSize(): number {
    return this.#totalSize;
  }

  /** Returns the value. The call counts as a use of the entry. */
  get(key: K): V | undefined {
    const node = this.#nodes.get(key);
    if (node === undefined) return undefined;
    if (node !== this.#newest) {
      this.#unlink(node);
      this.#append(node);
    }
    return node.value;
  }

  /** Returns the value. The call does not count as a use of the entry. */
  peek(key: K): V | undefined {
    return this.#nodes.get(key)?.value;
  }

  /**
   * Sets the value as the newest entry, and drops the least recently used entries until the limits are met. A value
   * that is larger than `maxSize` is not stored, and the old value of its key is removed.
   */
  set(key: K, value: V): void {
    this.delete(key);
    const size = this.#sizeOf(value, key);
    if (size > this.#maxSize) {
      this.#onRemove?.(value);
      return;
    }
    const node = { key, value, size, older: undefined, newer: undefined };
    this.#nodes.set(key, node);
    this.#append(node);
    this.#totalSize += size;
    while (this.#oldest !== undefined && (this.size > this.#maxEntries || this.#totalSize > this.#maxSize))
      this.delete(this.#oldest.key);
  }

  /** Deletes an entry. Returns true if there was one. */
  delete(key: K): boolean {
    const node = this.#nodes.get(key);
    if (node === undefined) return false;
    this.#nodes.delete(key);
    this.#unlink(node);
    this.#totalSize -= node.size;
    this.#onRemove?.(node.value);
    return true;
  }

  clear(): void {
    for (const key of this.#nodes.keys()) this.delete(key);
  }

  /** Yields all entries, in the order in which they were set. Entries may be deleted during the iteration. */
  *entries(): IterableIterator<[key: K, value: V]> {
    for (const [key, { value }] of this.#nodes) yield [key, value];
  }

  #append(node: Node<K, V>): void {
    node.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = node;
    else this.#newest.newer = node;
    this.#newest = node;
  }

  #unlink(node: Node<K, V>): void {
    const { older, newer } = node;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    node.older = undefined;
    node.newer = undefined;
  }
}
