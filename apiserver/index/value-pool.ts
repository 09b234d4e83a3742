// Enough for the values of a field that repeat; values of a field that are all different must not be kept alive.
const maxPooled = 4096;
// After this many overflows, the field's values do not repeat, and lookups only cost time.
const maxOverflows = 4;
const noValues: readonly string[] = Object.freeze([]);

/**
 * Returns the same string for equal values of one index, and the same list for equal lists of one value: with a handful
 * of phases, each of 100,000 objects then costs a pointer. The pool is cleared when it is full, and disabled when that
 * happens repeatedly: both lose sharing and nothing else.
 */
export class ValuePool {
  readonly #lists = new Map<string, readonly string[]>();
  #overflows = 0;

  /** An equal list, shared if possible. */
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
