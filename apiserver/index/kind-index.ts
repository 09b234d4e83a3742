import type { ApiObject, IndexSpec } from '@homeostat/controller-runtime/api';
import { compareCodePoints } from '@homeostat/controller-runtime/api';
import type { Steps } from '../turns/steps.ts';
import type { NamedEntries } from './build-index.ts';
import { StoredEntry } from './stored-entry.ts';
import { valueList } from './entry.ts';
import type { Entry, IndexValue } from './entry.ts';
import type { EntryTable } from './entry-table.ts';
import { IndexValueError } from './index-value-error.ts';
import { LazyIndex } from './lazy-index.ts';
import type { CurrentEntries, ValueChange } from './lazy-index.ts';
import type { ItemValues, SortedIndex } from './sorted-index.ts';
import { inBounds } from '../base/in-bounds.ts';

const noValues: readonly string[] = Object.freeze([]);
const oneEmpty: readonly string[] = Object.freeze(['']);

/**
 * The parts of an index that {@link KindIndex.remake} or {@link KindIndex.restore} has built; undefined for a part that
 * is built at its first use.
 */
export type MadeParts = readonly (SortedIndex | undefined)[];

/** One index of a kind: all pairs of a value and an entry in order, and the entries without a value. */
export class KindIndex {
  readonly spec: IndexSpec;
  /** The position of this index's values in {@link Entry.values}. */
  readonly position: number;
  readonly #values: LazyIndex;
  readonly #absent: LazyIndex;
  /**
   * Sorts the objects by the smallest of their values; {@link #largest} sorts them by the largest. Only a multi-valued
   * index, in which an object can have several values, has these two parts.
   */
  readonly #smallest: LazyIndex | undefined;
  readonly #largest: LazyIndex | undefined;
  readonly #parts: readonly LazyIndex[];

  constructor(spec: IndexSpec, position: number, current: CurrentEntries) {
    this.spec = spec;
    this.position = position;
    const { multiValued } = spec.indexFunc;
    const indexBy = (itemsOf: (values: readonly string[]) => readonly string[], itemValues: ItemValues): LazyIndex =>
      new LazyIndex(current, { position, itemsOf, itemValues });
    const first = { position, isLast: false };
    this.#values = indexBy(allOf, multiValued ? 'stored' : first);
    this.#absent = indexBy(noneOf, 'none');
    this.#smallest = multiValued ? indexBy(firstOf, first) : undefined;
    this.#largest = multiValued ? indexBy(lastOf, { position, isLast: true }) : undefined;
    this.#parts = [this.#values, this.#absent, this.#smallest, this.#largest].filter((part) => part !== undefined);
  }

  /** The index of entries with values. An {@link Entry} has one item for each value that it has at {@link position}. */
  get values(): SortedIndex {
    return this.#values.get();
  }

  /** The index of entries without a value. All are under the empty string, so they are in the order of their names. */
  get absent(): SortedIndex {
    return this.#absent.get();
  }

  /**
   * Returns the index for a sort. An entry with values has one item in this index: under its smallest value for an
   * ascending sort, or under its largest for a descending sort. An entry without a value has no item.
   */
  order(descending: boolean): SortedIndex {
    return this.#order(descending).get();
  }

  /** True when {@link values} is built. Some indexes are built only at their first use. */
  get isMade(): boolean {
    return this.#values.isMade;
  }

  /** True when at least one sorted list of this index is built or being built, so that changes must update it. */
  get follows(): boolean {
    for (const part of this.#parts) if (part.follows) return true;
    return false;
  }

  /**
   * Builds the first missing part that a condition on this index needs, in several turns of the event loop. Returns
   * undefined when no part is missing.
   */
  prepareCondition(needs: { readonly absent: boolean; readonly order: boolean }): Promise<void> | undefined {
    return (
      this.#values.prepare() ??
      (needs.absent ? this.#absent.prepare() : undefined) ??
      (needs.order ? this.#order(false).prepare() : undefined)
    );
  }

  /**
   * Builds the first missing part that a sort by this index needs, in several turns of the event loop. Returns
   * undefined when no part is missing.
   */
  prepareSort(descending: boolean): Promise<void> | undefined {
    return this.#values.prepare() ?? this.#order(descending).prepare() ?? this.#absent.prepare();
  }

  /**
   * Returns the value by which an entry is sorted; undefined for an entry without a value, which comes last in both
   * directions.
   */
  sortValue(entry: Entry, descending: boolean): string | undefined {
    if (entry instanceof StoredEntry) return entry.oneValueAt(this.position, descending);
    const values = inBounds(entry.values[this.position]);
    if (typeof values === 'string') return values;
    return descending ? values[values.length - 1] : values[0];
  }

  valuesOf(entry: Entry): readonly string[] {
    if (entry instanceof StoredEntry) return valueList(entry.valueAt(this.position));
    return valueList(inBounds(entry.values[this.position]));
  }

  /** Calls the index function, and returns its distinct values in the order of code points. Throws IndexValueError. */
  compute(object: ApiObject): IndexValue {
    const { name, indexFunc } = this.spec;
    let values: unknown;
    try {
      values = indexFunc.valuesOf(object);
    } catch (error) {
      throw new IndexValueError(name, `index function failed: ${messageOf(error)}`, { cause: error });
    }
    if (!isStringList(values)) throw new IndexValueError(name, 'index function must return strings');
    if (values.length > 1 && !indexFunc.multiValued)
      throw new IndexValueError(name, `index function must return one value, not ${values.length}`);
    // Values that are already sorted, as most index functions return them, are not sorted again: for 10,000 labels,
    // that would take 5 ms.
    const distinct =
      values.length < 2 || isDistinctSorted(values) ? values : [...new Set(values)].sort(compareCodePoints);
    const [first] = distinct;
    if (first === undefined) return noValues;
    // The values are copied, since an index function may keep its list and change it.
    return distinct.length === 1 ? first : [...distinct];
  }

  /**
   * Builds parts of this index for the objects of another table: those that are already built for the current table,
   * and also {@link values} if `isWanted` is true.
   */
  *remake(table: EntryTable, entries: NamedEntries, isWanted: boolean): Steps<MadeParts> {
    const made: MadeParts[number][] = [];
    for (const [at, part] of this.#parts.entries())
      made.push(part.isMade || (at === 0 && isWanted) ? yield* part.remake(table, entries) : undefined);
    return made;
  }

  /**
   * Returns the sorted row numbers of each part. The parts are the sorted lists of which this index consists. The
   * result has undefined for a part that is not built, or that stores the value of each item ({@link ItemValues}).
   */
  orders(): readonly (Int32Array | undefined)[] {
    return this.#parts.map((part) => part.order());
  }

  /**
   * Builds the parts of this index that a snapshot contains. For each of these parts, `orders` has the row numbers of
   * `table` in the order of the part. If the snapshot lacks {@link values} and `isWanted` is true, this method builds
   * {@link values} from the entries that `named` returns. It builds no other part.
   */
  *restore(
    table: EntryTable,
    orders: readonly (Int32Array | undefined)[],
    isWanted: boolean,
    named: () => Steps<NamedEntries>,
  ): Steps<MadeParts> {
    const made: MadeParts[number][] = [];
    for (const [at, part] of this.#parts.entries()) {
      const order = orders[at];
      if (order !== undefined) made.push(part.inOrder(table, order));
      else made.push(at === 0 && isWanted ? yield* part.remake(table, yield* named()) : undefined);
      yield;
    }
    return made;
  }

  /** Replaces the parts of this index with those that {@link remake} or {@link restore} has built. */
  take(made: MadeParts): void {
    for (const [at, part] of this.#parts.entries()) part.set(made[at]);
  }

  /**
   * Removes from this index the values that an object loses by a change. `row` is the row of the object's entry in the
   * table of entries. The caller calls this method before it replaces or removes the entry. After it has replaced the
   * entry, it must call {@link enter}, which adds the new values to this index.
   */
  leave(row: number, change: ValueChange): void {
    for (const part of this.#parts) part.leave(row, change);
  }

  enter(row: number, change: ValueChange): void {
    for (const part of this.#parts) part.enter(row, change);
  }

  #order(descending: boolean): LazyIndex {
    return (descending ? this.#largest : this.#smallest) ?? this.#values;
  }
}

function allOf(values: readonly string[]): readonly string[] {
  return values;
}

/**
 * Returns the values under which {@link KindIndex.absent} lists an object. `values` are the values that the author's
 * index function returned for the object. If there are none, the result is one empty string, otherwise an empty list.
 */
function noneOf(values: readonly string[]): readonly string[] {
  return values.length === 0 ? oneEmpty : noValues;
}

function firstOf(values: readonly string[]): readonly string[] {
  return values.slice(0, 1);
}

function lastOf(values: readonly string[]): readonly string[] {
  return values.slice(-1);
}

function isDistinctSorted(values: readonly string[]): boolean {
  return values.every((value, at) => at === 0 || compareCodePoints(inBounds(values[at - 1]), value) < 0);
}

function isStringList(value: unknown): value is readonly string[] {
  if (!Array.isArray(value)) return false;
  for (const item of value) if (typeof item !== 'string') return false;
  return true;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
