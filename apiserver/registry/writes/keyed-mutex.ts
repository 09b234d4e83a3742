/**
 * A lock for each key, first come first served. The writes of one object run one after the other, so that each decides
 * on the state that the previous one stored. Without the lock, only one of several concurrent writes would succeed, and
 * the compare-and-set of all others would fail.
 */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work with the same key has settled. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const tail = this.#tails.get(key);
    const result = tail === undefined ? work() : tail.then(work, work);
    this.#tails.set(key, result);
    const release = (): void => {
      if (this.#tails.get(key) === result) this.#tails.delete(key);
    };
    result.then(release, release);
    return result;
  }

  isHeld(key: string): boolean {
    return this.#tails.has(key);
  }

  /** The number of keys for which work runs or waits. */
  get size(): number {
    return this.#tails.size;
  }
}
