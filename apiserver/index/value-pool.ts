// Enough for the values of a field that repeats; a field whose values are all different must not keep them alive.
const maxPooled = 4096;
const noValues: readonly string[] = Object.freeze([]);

/**
 * Gives equal values of one index the same string, and lists of one value the same list: of 100,000 objects with a
 * handful of phases, each then costs a pointer. Forgets all when full, which costs sharing and nothing else.
 */
export class ValuePool {
  readonly #lists = new Map<string, readonly string[]>();

  /** An equal list, shared where it can be. */
  share(values: readonly string[]): readonly string[] {
    const [first] = values;
    if (first === undefined) return noValues;
    if (values.length === 1) return this.#list(first);
    return values.map((value) => this.#list(value)[0] ?? value);
  }

  #list(value: string): readonly string[] {
    const known = this.#lists.get(value);
    if (known !== undefined) return known;
    if (this.#lists.size >= maxPooled) this.#lists.clear();
    const list = [value];
    this.#lists.set(value, list);
    return list;
  }
}
