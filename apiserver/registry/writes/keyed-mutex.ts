/**
 * One holder a key, first come first served. Writers of one object take turns, so that each decides on what the one
 * before it stored, instead of all but one losing the compare-and-set.
 */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs `work` after every earlier work of the same key has settled. */
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

  /** Keys that are held. */
  get size(): number {
    return this.#tails.size;
  }
}
