// Enough for the values of a field that repeats; a field whose values are all different must not keep them alive.
const maxPooled = 4096;
// Full this often, the field is of the other sort, and looking is all cost.
const maxOverflows = 4;
const noValues: readonly string[] = Object.freeze([]);

/**
 * Gives equal values of one index the same string, and lists of one value the same list: of 100,000 objects with a
 * handful of phases, each then costs a pointer. Forgets all when full, and gives up when that happens again and again:
 * both cost sharing and nothing else.
 */
export class ValuePool {
  readonly #lists = new Map<string, readonly string[]>();
  #overflows = 0;

  /** An equal list, shared where it can be. */
  share(values: readonly string[]): readonly string[] {
    const [first] = values;
    if (first === undefined) return noValues;
    if (this.#overflows >= maxOverflows) return values;
    if (values.length === 1) return this.#list(first);
    return values.map((value) => this.#list(value)[0] ?? value);
  }

  #list(value: string): readonly string[] {
    const known = this.#lists.get(value);
    if (known !== undefined) return known;
    if (this.#lists.size >= maxPooled) this.#overflow();
    const list = [value];
    this.#lists.set(value, list);
    return list;
  }
  #overflow(): void {
    this.#lists.clear();
    this.#overflows += 1;
  }
}
