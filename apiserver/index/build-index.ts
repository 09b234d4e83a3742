import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { inBounds } from '../base/in-bounds.ts';
import type { Steps } from '../turns/steps.ts';
import type { EntryPlaces } from './entry-places.ts';
import type { EntryTable } from './entry-table.ts';
import { valueList } from './entry.ts';
import { Block } from './slabs.ts';
import { SortedIndex } from './sorted-index.ts';
import type { ItemValues } from './sorted-index.ts';
import { sortedTexts } from './lists/sorted-texts.ts';
import { StoredEntry } from './stored-entry.ts';

/** The number of objects that are visited in one step, which takes less than a millisecond. */
const visitedPerStep = 1000;

/** The number of values that are sorted or counted in one step. */
const valuesPerStep = 8192;

export interface IndexShape {
  /** The position of the values in `Entry.values`. */
  readonly position: number;
  /** Returns the values under which the index has an object. They are distinct, and in the order of code points. */
  readonly itemsOf: (values: readonly string[]) => readonly string[];
  readonly itemValues: ItemValues;
}

/** Entries as they were at one time, with their rows in the table and the order of their names. */
export interface NamedEntries {
  readonly places: EntryPlaces;
  readonly rows: Int32Array;
  /** Positions in `places` and in `rows`, in the order of names. */
  readonly byName: readonly number[];
}

const noBlock = new Block(0);

/** Returns the entries of a table, as they are at the time of the call. They are sorted in steps. */
export function inNameOrder(table: EntryTable): Steps<NamedEntries> {
  const rows = table.rows();
  return sortedByName(table.placesOf(rows), rows);
}

function* sortedByName(places: EntryPlaces, rows: Int32Array): Steps<NamedEntries> {
  const [a, b] = [new StoredEntry(noBlock, 0), new StoredEntry(noBlock, 0)];
  const byName = yield* sortedTexts({
    length: places.length,
    lengthOf: (position) => places.read(position, a).nameLength,
    unitOf: (position, at) => places.read(position, a).nameUnit(at),
    compare: (left, right) => places.read(left, a).compareNames(places.read(right, b)),
  });
  return { places, rows, byName };
}

/** The items of an index, each with the number of its value. */
interface Items {
  readonly rows: number[];
  readonly numbers: number[];
  readonly values: readonly string[];
}

/** Builds an index of these entries. Rows that change during the build are left out. */
export function* buildIndex(
  table: EntryTable,
  entries: NamedEntries,
  { shape, changed }: { readonly shape: IndexShape; readonly changed: ReadonlySet<number> },
): Steps<SortedIndex> {
  const { rows, numbers, values } = yield* itemsOf(entries, shape);
  const ranks = yield* ranksOf(values);
  const sorted = yield* sortedByRank(numbers, ranks);
  const index = new SortedIndex(table, shape.itemValues);
  // From here on, every change has to update the index. So the rest is a single step. It takes 10 ms for a million
  // rows.
  const kept = changed.size === 0 ? sorted : sorted.filter((item) => !changed.has(inBounds(rows[item])));
  const isStored = shape.itemValues === 'stored';
  index.load(
    kept.map((item) => inBounds(rows[item])),
    isStored ? Array.from(kept, (item) => inBounds(values[inBounds(numbers[item])])) : undefined,
  );
  return index;
}

function* itemsOf(
  { places, rows: allRows, byName }: NamedEntries,
  { position, itemsOf: valuesOf }: IndexShape,
): Steps<Items> {
  const record = new StoredEntry(noBlock, 0);
  const known = new Map<string, number>();
  const [rows, numbers]: [number[], number[]] = [[], []];
  for (const [seen, at] of byName.entries()) {
    const row = inBounds(allRows[at]);
    for (const value of valuesOf(valueList(places.read(at, record).valueAt(position)))) {
      let number = known.get(value);
      if (number === undefined) known.set(value, (number = known.size));
      rows.push(row);
      numbers.push(number);
    }
    if (seen % visitedPerStep === 0) yield;
  }
  return { rows, numbers, values: [...known.keys()] };
}

/** Returns the rank of each value in the order of all values. */
function* ranksOf(values: readonly string[]): Steps<Int32Array> {
  const order = yield* sortedTexts({
    length: values.length,
    lengthOf: (position) => inBounds(values[position]).length,
    unitOf: (position, at) => inBounds(values[position]).charCodeAt(at),
    compare: (a, b) => compareCodePoints(inBounds(values[a]), inBounds(values[b])),
  });
  const ranks = new Int32Array(values.length);
  for (const [rank, position] of order.entries()) ranks[position] = rank;
  return ranks;
}

/** Returns the items sorted by their values. Items with equal values keep their order. */
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
