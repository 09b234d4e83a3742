import type { ApiObject, IndexSpec } from '@homeostat/controller-runtime/api';
import { compareCodePoints } from '@homeostat/controller-runtime/api';
import type { Steps } from '../turns/steps.ts';
import type { CompareStrings } from './entry.ts';
import { valueList } from './entry.ts';
import type { Entry, IndexValue, IndexValues, Slot } from './entry.ts';
import { IndexValueError } from './index-value-error.ts';
import { sortedIndexOf } from './index-items.ts';
import type { IndexItems } from './index-items.ts';
import { LazyIndex } from './lazy-index.ts';
import type { LazyIndexParts } from './lazy-index.ts';
import type { SortedIndex } from './sorted-index.ts';
import { inBounds } from '../base/in-bounds.ts';

// Enough for the values of a field that repeat; values of a field that are all different must not be kept alive.
const maxPooled = 4096;
// After this many overflows, the field's values do not repeat, and lookups only cost time.
const maxOverflows = 4;
const noValues: readonly string[] = Object.freeze([]);

/**
 * Returns the same string for equal values of one index: with a handful of phases, each of 100,000 objects then costs a
 * pointer. The pool is cleared when it is full, and disabled when that happens repeatedly: both only reduce sharing.
 */
class ValuePool {
  readonly #values = new Map<string, string>();
  #overflows = 0;

  /** An equal string, shared if possible. */
  share(value: string): string {
    if (this.#overflows >= maxOverflows) return value;
    const known = this.#values.get(value);
    if (known !== undefined) return known;
    if (this.#values.size >= maxPooled) this.#overflow();
    this.#values.set(value, value);
    return value;
  }

  #overflow(): void {
    this.#values.clear();
    this.#overflows += 1;
  }
}

/** The result of {@link KindIndex.remake}; undefined for a part that is built on demand. */
export type MadeParts = readonly (SortedIndex | undefined)[];

/** One index of a kind: every (value, entry) in order, and the entries that have no value. */
export class KindIndex {
  readonly spec: IndexSpec;
  /** The position of this index's values in {@link Entry.values}. */
  readonly position: number;
  readonly #values: LazyIndex;
  readonly #absent: LazyIndex;
  /** In a multi-valued index: one item for each entry, under its smallest or largest value. */
  readonly #smallest: LazyIndex | undefined;
  readonly #largest: LazyIndex | undefined;
  readonly #parts: readonly LazyIndex[];
  readonly #pool = new ValuePool();

  /** `slots` gives the slots of all present objects. */
  constructor(spec: IndexSpec, position: number, slots: () => Iterable<Slot>) {
    this.spec = spec;
    this.position = position;
    const indexBy = (itemsOf: LazyIndexParts['itemsOf']): LazyIndex => new LazyIndex({ slots, position, itemsOf });
    this.#values = indexBy(allOf);
    this.#absent = indexBy(noneOf);
    const { multiValued } = spec.indexFunc;
    this.#smallest = multiValued ? indexBy(firstOf) : undefined;
    this.#largest = multiValued ? indexBy(lastOf) : undefined;
    this.#parts = [this.#values, this.#absent, this.#smallest, this.#largest].filter((part) => part !== undefined);
  }

  /** One item for each value of each entry. */
  get values(): SortedIndex {
    return this.#values.get();
  }

  /** Entries without a value, all under the empty string and therefore in the order of their names. */
  get absent(): SortedIndex {
    return this.#absent.get();
  }

  /** Entries with at least one value, each once, in the order for a sort: smallest value first, or largest. */
  order(descending: boolean): SortedIndex {
    return this.#order(descending).get();
  }

  /** True when {@link values} is built: some indexes are built on demand. */
  get isMade(): boolean {
    return this.#values.isMade;
  }

  /**
   * Builds, in several turns, the parts that a condition on this index needs. Returns undefined when they are built
   * already.
   */
  prepareCondition(needs: { readonly absent: boolean; readonly order: boolean }): Promise<void> | undefined {
    return (
      this.#values.prepare() ??
      (needs.absent ? this.#absent.prepare() : undefined) ??
      (needs.order ? this.#order(false).prepare() : undefined)
    );
  }

  /** The same for a sort by this index. */
  prepareSort(descending: boolean): Promise<void> | undefined {
    return this.#values.prepare() ?? this.#order(descending).prepare() ?? this.#absent.prepare();
  }

  /** The value by which an entry sorts; undefined for one that comes last in either direction. */
  sortValue(entry: Entry, descending: boolean): string | undefined {
    const values = inBounds(entry.values[this.position]);
    if (typeof values === 'string') return values;
    return descending ? values[values.length - 1] : values[0];
  }

  /** Compares any two values that objects of this kind have or had. */
  get compare(): CompareStrings {
    return this.isMade ? this.values.compare : compareCodePoints;
  }

  valuesOf(entry: Entry): readonly string[] {
    return valueList(inBounds(entry.values[this.position]));
  }

  /** The index function's result: distinct, in code point order. Throws IndexValueError. */
  compute(object: ApiObject): IndexValue {
    const values = this.#call(object);
    // Most functions sort already, and sorting 10,000 labels again takes 5 ms.
    const distinct =
      values.length < 2 || isDistinctSorted(values) ? values : [...new Set(values)].sort(compareCodePoints);
    const [first] = distinct;
    if (first === undefined) return noValues;
    if (distinct.length === 1) return this.shared(first);
    // A copy, since an index function may keep its list and change it.
    return distinct.map((value) => this.shared(value));
  }

  /** An equal value, which objects share if the values of this index repeat. */
  shared(value: string): string {
    return this.spec.unique ? value : this.#pool.share(value);
  }

  /**
   * The currently built parts of this index for other objects, whose slots come in the order of their names. `items`
   * has all values; without them, the values are built on demand.
   */
  *remake(slots: readonly Slot[], items: IndexItems | undefined): Steps<MadeParts> {
    const made: MadeParts[number][] = [items === undefined ? undefined : yield* sortedIndexOf(items)];
    for (const part of this.#parts.slice(1)) made.push(part.isMade ? yield* part.remake(slots) : undefined);
    return made;
  }

  /** Takes the result of {@link remake}. */
  take(made: MadeParts): void {
    for (const [at, part] of this.#parts.entries()) part.set(made[at]);
  }

  /** Moves a slot from its former values to the new ones; undefined when the object was absent before, or is now. */
  move(slot: Slot, before: IndexValues | undefined, after: IndexValues | undefined): void {
    const old = before?.[this.position];
    const current = after?.[this.position];
    // Most writes change few indexes; shared lists make this a comparison of pointers.
    if (old === current || (old !== undefined && current !== undefined && sameValues(old, current))) return;
    const from = typeof old === 'string' ? [old] : old;
    const to = typeof current === 'string' ? [current] : current;
    for (const part of this.#parts) part.move(slot, from, to);
  }

  #order(descending: boolean): LazyIndex {
    return (descending ? this.#largest : this.#smallest) ?? this.#values;
  }

  #call(object: ApiObject): readonly string[] {
    const { name, indexFunc } = this.spec;
    let values: unknown;
    try {
      values = indexFunc.valuesOf(object);
    } catch (error) {
      throw new IndexValueError(name, `index function failed: ${messageOf(error)}`, { cause: error });
    }
    if (!isStringList(values)) throw new IndexValueError(name, 'index function must return strings');
    if (values.length > 1 && !indexFunc.multiValued) {
      throw new IndexValueError(name, `index function must return one value, not ${values.length}`);
    }
    return values;
  }
}

function allOf(values: readonly string[]): readonly string[] {
  return values;
}

/** Entries without a value are stored under the empty string. */
function noneOf(values: readonly string[]): readonly string[] {
  return values.length === 0 ? [''] : [];
}

function firstOf(values: readonly string[]): readonly string[] {
  return values.slice(0, 1);
}

function lastOf(values: readonly string[]): readonly string[] {
  return values.slice(-1);
}

function sameValues(a: IndexValue, b: IndexValue): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  return a === b || (a.length === b.length && a.every((value, i) => value === b[i]));
}

function isDistinctSorted(values: readonly string[]): boolean {
  return values.every((value, at) => at === 0 || compareCodePoints(inBounds(values[at - 1]), value) < 0);
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
