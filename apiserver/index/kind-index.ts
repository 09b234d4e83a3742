import type { ApiObject, IndexSpec } from '@homeostat/controller-runtime/api';
import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { sortSteps } from '../turns/sort-steps.ts';
import { allSteps } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import type { CompareStrings } from './code-units.ts';
import { compareUnits, isWide } from './code-units.ts';
import type { Entry, IndexValues, Slot } from './entry.ts';
import { compareNames } from './entry.ts';
import { IndexValueError } from './index-value-error.ts';
import { SortedIndex } from './sorted-index.ts';
import { ValuePool } from './value-pool.ts';
import { valuesWithout } from './values-without.ts';

/** What one index is loaded with, in the order of names. */
export interface IndexItems {
  /** `values[i]` is one of `slots[i]`. */
  readonly values: string[];
  readonly slots: Slot[];
}

/** One index of a kind: every (value, entry) in order, and the entries that have no value. */
export class KindIndex {
  readonly spec: IndexSpec;
  /** Where this index's values stand in {@link Entry.values}. */
  readonly position: number;
  #values: SortedIndex | undefined;
  /** Made when somebody asks for it: under `metadata.deletionTimestamp` that would be nearly everything, for nobody. */
  #absent: SortedIndex | undefined;
  /** Of a multi-valued index: one item for each entry, under its smallest or largest value. Made at the first sort. */
  #smallest: SortedIndex | undefined;
  #largest: SortedIndex | undefined;
  readonly #pool = new ValuePool();
  readonly #slots: () => Iterable<Slot>;

  /** `slots` gives the slots of all present objects. */
  constructor(spec: IndexSpec, position: number, slots: () => Iterable<Slot>) {
    this.spec = spec;
    this.position = position;
    this.#slots = slots;
  }

  /** One item for each value of each entry. */
  get values(): SortedIndex {
    return (this.#values ??= this.#collect());
  }

  /** Entries without a value, all under the empty string, so in the order of their names. */
  get absent(): SortedIndex {
    return (this.#absent ??= this.#findAbsent());
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

  /** The order of any two values that objects of this kind have or had. */
  get compare(): CompareStrings {
    return this.values.compare;
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

  /** Replaces everything, in steps. Without items, the index is made from the present objects when it is needed. */
  *load(items?: IndexItems): Steps<void> {
    this.#values = items === undefined ? undefined : yield* sortedIndexOf(items);
    this.#absent = undefined;
    this.#smallest = undefined;
    this.#largest = undefined;
  }

  /** Moves a slot from its former values to the new ones; undefined: the object was, or will be, away. */
  move(slot: Slot, before: IndexValues | undefined, after: IndexValues | undefined): void {
    const old = before?.[this.position];
    const current = after?.[this.position];
    // Most writes change few indexes; shared lists make this a comparison of pointers.
    if (old === current || (old !== undefined && current !== undefined && sameValues(old, current))) return;
    if (this.#values !== undefined) {
      for (const value of valuesWithout(old ?? [], current ?? [])) this.#values.remove(value, slot);
      for (const value of valuesWithout(current ?? [], old ?? [])) this.#values.insert(value, slot);
    }
    if (old?.length === 0) this.#absent?.remove('', slot);
    if (current?.length === 0) this.#absent?.insert('', slot);
    if (this.#smallest !== undefined) moveOne(this.#smallest, slot, [old?.[0], current?.[0]]);
    if (this.#largest !== undefined) moveOne(this.#largest, slot, [old?.at(-1), current?.at(-1)]);
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

  #collect(): SortedIndex {
    const items: IndexItems = { values: [], slots: [] };
    for (const slot of [...this.#slots()].sort(compareNames)) addItems(items, slot, this.valuesOf(slot.entry));
    return allSteps(sortedIndexOf(items));
  }

  #findAbsent(): SortedIndex {
    const slots = [...this.#slots()].filter((slot) => this.valuesOf(slot.entry).length === 0).sort(compareNames);
    const absent = new SortedIndex();
    absent.load(
      Array.from(slots, () => ''),
      slots,
    );
    return absent;
  }

  // The values are in order already, so what is picked from them is.
  #pick(choose: (values: readonly string[]) => string | undefined): SortedIndex {
    const values: string[] = [];
    const slots: Slot[] = [];
    this.values.forEachSlot((slot, value) => {
      if (choose(this.valuesOf(slot.entry)) !== value) return;
      values.push(value);
      slots.push(slot);
    });
    const picked = new SortedIndex();
    picked.load(values, slots);
    return picked;
  }
}

/** Adds one object's values. */
export function addItems(items: IndexItems, slot: Slot, values: readonly string[]): void {
  for (const value of values) {
    items.values.push(value);
    items.slots.push(slot);
  }
}

/** Slots come in the order of their names, and a stable sort keeps it among equal values. */
function* sortedIndexOf({ values, slots }: IndexItems): Steps<SortedIndex> {
  const compare = values.some(isWide) ? compareCodePoints : compareUnits;
  const positions = Array.from(values, (_, i) => i);
  const order = yield* sortSteps(positions, (a, b) => compare(values[a] as string, values[b] as string));
  const sortedValues: string[] = [];
  const sortedSlots: Slot[] = [];
  for (const i of order) {
    sortedValues.push(values[i] as string);
    sortedSlots.push(slots[i] as Slot);
    if (sortedValues.length % itemsPerStep === 0) yield;
  }
  const index = new SortedIndex();
  yield* index.loadSteps(sortedValues, sortedSlots);
  return index;
}

/** Values that are put in their places in one step: about a millisecond. */
const itemsPerStep = 8192;

function moveOne(
  index: SortedIndex,
  slot: Slot,
  [old, current]: readonly [string | undefined, string | undefined],
): void {
  if (old === current) return;
  if (old !== undefined) index.remove(old, slot);
  if (current !== undefined) index.insert(current, slot);
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
