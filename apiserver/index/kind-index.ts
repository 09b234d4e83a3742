import type { ApiObject, IndexSpec } from '@homeostat/controller-runtime/api';
import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { compareUnits, isWide } from './code-units.ts';
import type { Entry } from './entry.ts';
import { IndexValueError } from './index-value-error.ts';
import { SortedIndex } from './sorted-index.ts';
import { ValuePool } from './value-pool.ts';

/** One index of a kind: every (value, entry) in order, and the entries that have no value. */
export class KindIndex {
  readonly spec: IndexSpec;
  /** Where this index's values stand in {@link Entry.values}. */
  readonly position: number;
  /** One item for each value of each entry. */
  readonly values: SortedIndex = new SortedIndex();
  /** Entries without a value, all under the empty string, so in the order of their names. */
  readonly absent: SortedIndex = new SortedIndex();
  /** Of a multi-valued index: one item for each entry, under its smallest or largest value. Made at the first sort. */
  #smallest: SortedIndex | undefined;
  #largest: SortedIndex | undefined;
  readonly #pool = new ValuePool();

  constructor(spec: IndexSpec, position: number) {
    this.spec = spec;
    this.position = position;
  }

  /** Entries under at least one value, each once, in the order that a sort wants: smallest value first, or largest. */
  order(descending: boolean): SortedIndex {
    if (!this.spec.indexFunc.multiValued) return this.values;
    if (descending) return (this.#largest ??= this.#pick((values) => values.at(-1)));
    return (this.#smallest ??= this.#pick((values) => values[0]));
  }

  /** The value by which an entry sorts; undefined: last, whatever the direction. */
  sortValue(entry: Entry, descending: boolean): string | undefined {
    const values = this.valuesOf(entry);
    return descending ? values[values.length - 1] : values[0];
  }

  valuesOf(entry: Entry): readonly string[] {
    return entry.values[this.position] as readonly string[];
  }

  /** What the index function answers: distinct, in code point order. Throws IndexValueError. */
  compute(object: ApiObject): readonly string[] {
    const values = this.#call(object);
    const distinct = values.length < 2 ? [...values] : [...new Set(values)].sort(compareCodePoints);
    return this.spec.unique ? distinct : this.#pool.share(distinct);
  }

  /** Replaces everything by these entries, which are in the order of their names. */
  load(entries: readonly Entry[]): void {
    const groups = new Map<string, Entry[]>();
    const absent: Entry[] = [];
    for (const entry of entries) {
      const values = this.valuesOf(entry);
      if (values.length === 0) absent.push(entry);
      for (const value of values) {
        const group = groups.get(value);
        if (group === undefined) groups.set(value, [entry]);
        else group.push(entry);
      }
    }
    this.#loadGroups(groups);
    this.absent.load(new Array<string>(absent.length).fill(''), absent);
    this.#smallest = undefined;
    this.#largest = undefined;
  }

  add(entry: Entry): void {
    const values = this.valuesOf(entry);
    if (values.length === 0) return this.absent.insert('', entry);
    for (const value of values) this.values.insert(value, entry);
    this.#smallest?.insert(values[0] as string, entry);
    this.#largest?.insert(values.at(-1) as string, entry);
  }

  remove(entry: Entry): void {
    const values = this.valuesOf(entry);
    if (values.length === 0) this.absent.remove('', entry);
    for (const value of values) this.values.remove(value, entry);
    if (values.length === 0) return;
    this.#smallest?.remove(values[0] as string, entry);
    this.#largest?.remove(values.at(-1) as string, entry);
  }

  /** Takes a newer entry of the same object. Most writes change few values, and then nothing moves. */
  update(before: Entry, after: Entry): void {
    const values = this.valuesOf(after);
    if (!sameValues(this.valuesOf(before), values)) {
      this.remove(before);
      return this.add(after);
    }
    if (values.length === 0) this.absent.replace('', after);
    for (const value of values) this.values.replace(value, after);
    if (values.length === 0) return;
    this.#smallest?.replace(values[0] as string, after);
    this.#largest?.replace(values.at(-1) as string, after);
  }

  #call(object: ApiObject): readonly string[] {
    const { name, indexFunc } = this.spec;
    let values: unknown;
    try {
      values = indexFunc.valuesOf(object);
    } catch (error) {
      throw new IndexValueError(name, `index function failed: ${messageOf(error)}`, { cause: error });
    }
    if (!isStringList(values)) throw new IndexValueError(name, 'index function must answer with strings');
    if (values.length > 1 && !indexFunc.multiValued) {
      throw new IndexValueError(name, `index function must answer with one value, not ${values.length}`);
    }
    return values;
  }

  // Sorting the distinct values alone makes indexes with few of them nearly free; the groups are in name order already.
  #loadGroups(groups: ReadonlyMap<string, readonly Entry[]>): void {
    const distinct = [...groups.keys()];
    distinct.sort(distinct.some(isWide) ? compareCodePoints : compareUnits);
    const values: string[] = [];
    const entries: Entry[] = [];
    for (const value of distinct) {
      for (const entry of groups.get(value) ?? []) {
        values.push(value);
        entries.push(entry);
      }
    }
    this.values.load(values, entries);
  }

  #pick(choose: (values: readonly string[]) => string | undefined): SortedIndex {
    const values: string[] = [];
    const entries: Entry[] = [];
    this.values.forEach(0, this.values.size, (entry, value) => {
      if (choose(this.valuesOf(entry)) !== value) return true;
      values.push(value);
      entries.push(entry);
      return true;
    });
    const picked = new SortedIndex();
    picked.load(values, entries);
    return picked;
  }
}

function sameValues(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((value, i) => value === b[i]));
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
