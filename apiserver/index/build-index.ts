import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { inBounds } from '../base/in-bounds.ts';
import { oneStep } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import type { EntryPlaces } from './entry-places.ts';
import type { EntryTable } from './entry-table.ts';
import { valueList } from './entry.ts';
import { Block } from './slabs.ts';
import { SortedIndex } from './sorted-index.ts';
import type { ItemValues } from './sorted-index.ts';
import { commonLength, keyOf, sortedTexts } from './lists/sorted-texts.ts';
import { StoredEntry } from './stored-entry.ts';

/** The number of objects that are visited in one step, which takes less than a millisecond. */
const visitedPerStep = 1000;

/** The number of values that are sorted or counted in one step. */
const valuesPerStep = 8192;

export interface IndexShape {
  /** The position of the index's values in `Entry.values`. */
  readonly position: number;
  /**
   * Returns the values under which this index has an item for an entry; they are distinct, and in the order of code
   * points. `values` are the values of the entry at `position`. Depending on the index, the function returns all of
   * them, only the first, or only the last. For an index of the entries without a value, it returns one empty string if
   * `values` is empty, otherwise an empty list.
   */
  readonly itemsOf: (values: readonly string[]) => readonly string[];
  readonly itemValues: ItemValues;
}

/**
 * The entries of an {@link EntryTable}, as they were at one time, and the numbers of their rows in this table. Both
 * lists are in the order of the names of the entries.
 */
export interface NamedEntries {
  readonly places: EntryPlaces;
  readonly rows: Int32Array;
}

const noBlock = new Block(0);

/** Returns the entries of a table, as they are at the time of the call. They are sorted in steps. */
export function inNameOrder(table: EntryTable): Steps<NamedEntries> {
  const rows = table.rows();
  return sortedByName(table.placesOf(rows), rows);
}

/** Returns the entries of a table, as they are at the time of the call. `rows` has all rows in the order of names. */
export function alreadyInNameOrder(table: EntryTable, rows: Int32Array): Steps<NamedEntries> {
  const named = { places: table.placesOf(rows), rows };
  return oneStep(() => named);
}

function* sortedByName(places: EntryPlaces, rows: Int32Array): Steps<NamedEntries> {
  const [a, b] = [new StoredEntry(noBlock, 0), new StoredEntry(noBlock, 0)];
  const order = yield* sortedTexts({
    length: places.length,
    commonLength: (position) => places.read(position, a).commonNameLength(places.read(0, b)),
    keyAt: (position, from) => places.read(position, a).nameKey(from),
    compare: (left, right) => places.read(left, a).compareNames(places.read(right, b)),
  });
  const sorted = new Int32Array(order);
  yield;
  const named = places.reordered(sorted);
  yield;
  return { places: named, rows: sorted.map((position) => inBounds(rows[position])) };
}

/** The items of an index. `numbers` has the position of each item's value in `values`. */
interface Items {
  readonly rows: number[];
  readonly numbers: number[];
  readonly values: readonly string[];
  /** True when the items are in the order of their values. */
  readonly isSorted: boolean;
}

/**
 * Builds an index of `entries`. Leaves out the entries whose rows are in `changed`, the rows that have changed since
 * the start of the build. The caller adds these rows to the index in their new state.
 */
export function* buildIndex(
  table: EntryTable,
  entries: NamedEntries,
  { shape, changed }: { readonly shape: IndexShape; readonly changed: ReadonlySet<number> },
): Steps<SortedIndex> {
  const { rows, numbers, values, isSorted } = yield* itemsOf(entries, shape);
  const sorted = isSorted ? yield* positionsBelow(rows.length) : yield* sortedByRank(numbers, yield* ranksOf(values));
  const index = new SortedIndex(table, shape.itemValues);
  // The code below runs without a `yield`, so no row changes until the caller has the complete index. It takes 10 ms
  // for a million rows.
  const kept = changed.size === 0 ? sorted : sorted.filter((item) => !changed.has(inBounds(rows[item])));
  const isStored = shape.itemValues === 'stored';
  index.load(
    kept.map((item) => inBounds(rows[item])),
    isStored ? Array.from(kept, (item) => inBounds(values[inBounds(numbers[item])])) : undefined,
  );
  return index;
}

function* itemsOf({ places, rows: allRows }: NamedEntries, { position, itemsOf: valuesOf }: IndexShape): Steps<Items> {
  const record = new StoredEntry(noBlock, 0);
  const [rows, numbers, values]: [number[], number[], string[]] = [[], [], []];
  // Maps each value to its position in `values`. The map is created when a value is less than the value before it. An
  // index of names needs no map, because the entries are already in the order of their names.
  let known: Map<string, number> | undefined;
  for (let at = 0; at < places.length; at += 1) {
    const row = inBounds(allRows[at]);
    for (const value of valuesOf(valueList(places.read(at, record).valueAt(position)))) {
      const last = values.at(-1);
      const order = last === undefined ? 1 : compareCodePoints(value, last);
      if (order < 0) known ??= yield* numbersOf(values);
      let number = order === 0 ? values.length - 1 : known?.get(value);
      if (number === undefined) {
        number = values.push(value) - 1;
        known?.set(value, number);
      }
      rows.push(row);
      numbers.push(number);
    }
    if (at % visitedPerStep === 0) yield;
  }
  return { rows, numbers, values, isSorted: known === undefined };
}

function* positionsBelow(length: number): Steps<Int32Array> {
  const positions = new Int32Array(length);
  for (let position = 0; position < length; position += 1) {
    positions[position] = position;
    if (position % valuesPerStep === 0) yield;
  }
  return positions;
}

function* numbersOf(values: readonly string[]): Steps<Map<string, number>> {
  const numbers = new Map<string, number>();
  for (const [number, value] of values.entries()) {
    numbers.set(value, number);
    if (number % valuesPerStep === 0) yield;
  }
  return numbers;
}

/** Returns the rank of each value in the order of all values. */
function* ranksOf(values: readonly string[]): Steps<Int32Array> {
  const order = yield* sortedTexts({
    length: values.length,
    commonLength: (position) => commonLength(inBounds(values[position]), inBounds(values[0])),
    keyAt: (position, from) => keyOf(inBounds(values[position]), from),
    compare: (a, b) => compareCodePoints(inBounds(values[a]), inBounds(values[b])),
  });
  const ranks = new Int32Array(values.length);
  for (const [rank, position] of order.entries()) ranks[position] = rank;
  return ranks;
}

/**
 * Returns the positions in `numbers`, sorted by the rank of the value at each position. `ranks` has the rank of each
 * number. Positions of equal rank keep their order.
 */
function* sortedByRank(numbers: readonly number[], ranks: Int32Array): Steps<Int32Array> {
  const next = new Int32Array(ranks.length + 1);
  for (const [item, number] of numbers.entries()) {
    const place = inBounds(ranks[number]) + 1;
    next[place] = inBounds(next[place]) + 1;
    if (item % valuesPerStep === 0) yield;
  }
  for (let rank = 1; rank < next.length; rank += 1) next[rank] = inBounds(next[rank]) + inBounds(next[rank - 1]);
  yield;
  const sorted = new Int32Array(numbers.length);
  for (const [item, number] of numbers.entries()) {
    const rank = inBounds(ranks[number]);
    const place = inBounds(next[rank]);
    sorted[place] = item;
    next[rank] = place + 1;
    if (item % valuesPerStep === 0) yield;
  }
  return sorted;
}
