import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { allSteps } from '../../turns/steps.ts';
import type { Steps } from '../../turns/steps.ts';
import { compareNames } from '../lists/compare-strings.ts';
import { StoredEntry } from '../stored-entry.ts';
import type { Entry } from '../entry.ts';
import type { EntryPlaces } from '../entry-places.ts';
import type { KindCache } from '../kind-cache.ts';
import type { SortKey } from './query.ts';
import type { SortedIndex } from '../sorted-index.ts';
import { inBounds } from '../../base/in-bounds.ts';

export interface Walk {
  /** The number of positions to skip. With one sort key, skipping takes O(log n). */
  readonly from: number;
  /**
   * A function that is called for every visited entry, before entries are sorted. If it returns false, the walk leaves
   * out the entry.
   */
  readonly accepts: (entry: Entry) => boolean;
  /** A function that is called with the accepted entries in order. If it returns false, the walk ends. */
  readonly emit: (entry: Entry) => boolean;
}

/**
 * Returns the comparison for a sort: by its keys, then by name and namespace. Objects without a value come last in both
 * directions.
 */
export function compareByOrder(order: readonly SortKey[]): CompareEntries {
  return (a, b) => {
    for (const key of order) {
      const compared = compareByKey(key, a, b);
      if (compared !== 0) return compared;
    }
    return compareEntryNames(a, b);
  };
}

function compareEntryNames(a: Entry, b: Entry): number {
  return a instanceof StoredEntry && b instanceof StoredEntry ? a.compareNames(b) : compareNames(a, b);
}

type CompareEntries = (a: Entry, b: Entry) => number;

interface Keyed {
  readonly entry: Entry;
  /** The entry's value for the first sort key. */
  readonly value: string | undefined;
}

/** Returns the first `count` entries in the order of a sort. */
export function firstInOrder(entries: readonly Entry[], order: readonly SortKey[], count: number): readonly Entry[] {
  const [key] = order;
  if (key === undefined) return entries.slice(0, count);
  // Each value is looked up once, and not at each comparison. For 500 entries, this takes half the time.
  const keyed = entries.map((entry): Keyed => ({ entry, value: key.index.sortValue(entry, key.descending) }));
  const compare = compareKeyed(key, compareByOrder(order.slice(1)));
  const first = count * 4 < entries.length ? smallest(keyed, compare, count) : keyed.sort(compare).slice(0, count);
  return first.map(({ entry }) => entry);
}

function compareKeyed({ descending }: SortKey, otherwise: CompareEntries): (a: Keyed, b: Keyed) => number {
  const sign = descending ? -1 : 1;
  return (a: Keyed, b: Keyed): number => {
    if (a.value === b.value) return otherwise(a.entry, b.entry);
    if (a.value === undefined) return 1;
    if (b.value === undefined) return -1;
    return sign * compareCodePoints(a.value, b.value);
  };
}

/**
 * Returns the `count` smallest items. Keeps the `count` smallest items found so far; most other items are compared only
 * with the largest of these.
 */
function smallest<T>(items: readonly T[], compare: (a: T, b: T) => number, count: number): readonly T[] {
  const best: T[] = [];
  if (count === 0) return best;
  for (const item of items) {
    if (best.length === count && compare(item, inBounds(best[count - 1])) >= 0) continue;
    let low = 0;
    let high = best.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(inBounds(best[middle]), item) <= 0) low = middle + 1;
      else high = middle;
    }
    best.splice(low, 0, item);
    if (best.length > count) best.pop();
  }
  return best;
}

function compareByKey({ index, descending }: SortKey, a: Entry, b: Entry): number {
  const valueOfA = index.sortValue(a, descending);
  const valueOfB = index.sortValue(b, descending);
  if (valueOfA === valueOfB) return 0;
  if (valueOfA === undefined) return 1;
  if (valueOfB === undefined) return -1;
  return descending ? compareCodePoints(valueOfB, valueOfA) : compareCodePoints(valueOfA, valueOfB);
}

/** The number of entries that are visited in one step, which takes a millisecond. */
const passedPerStep = 4096;

/**
 * Returns all entries of a kind in the order of one key, as they are at the time of the call. It runs in steps, because
 * to compare the values of a million entries takes a tenth of a second.
 */
export function placesInOrder({ table }: KindCache, key: SortKey): Steps<EntryPlaces> {
  const { rows, count } = rowsByValue(key);
  return reordered(table.placesOf(rows), count, key);
}

/** Returns all entries of a kind in the order of one key, like {@link placesInOrder}, but in one step. */
export function entriesInOrder({ table }: KindCache, key: SortKey): readonly Entry[] {
  const { rows, count } = rowsByValue(key);
  const order = allSteps(orderOf({ length: rows.length, entry: (at) => table.entry(inBounds(rows[at])) }, count, key));
  return Array.from(order, (at) => table.entry(inBounds(rows[at])));
}

/** Returns all rows in the order of ascending values. The first `count` rows have a value. */
function rowsByValue({ index, descending }: SortKey): { readonly rows: Int32Array; readonly count: number } {
  const [present, absent] = [index.order(descending).rows(), index.absent.rows()];
  const rows = new Int32Array(present.length + absent.length);
  rows.set(present);
  rows.set(absent, present.length);
  return { rows, count: present.length };
}

function* reordered(entries: EntryPlaces, count: number, key: SortKey): Steps<EntryPlaces> {
  return key.descending ? entries.reordered(yield* orderOf(entries, count, key)) : entries;
}

/**
 * Returns the positions of the given entries in the order of a sort key, with the entries without a value last. The
 * first `count` of the given entries must have a value, and must be in the order of ascending values.
 */
function* orderOf(
  entries: Pick<EntryPlaces, 'length' | 'entry'>,
  count: number,
  { index, descending }: SortKey,
): Steps<Int32Array> {
  const order = Int32Array.from({ length: entries.length }, (_, at) => at);
  let filled = 0;
  // If the sort key is descending, the entries with the highest value come first in the result. Entries with the same
  // value stay in the order in which they were given.
  for (let end = descending ? count : 0; end > 0; end = count - filled) {
    const value = index.sortValue(entries.entry(end - 1), true);
    let start = end - 1;
    for (; start > 0 && index.sortValue(entries.entry(start - 1), true) === value; start -= 1)
      if (start % passedPerStep === 0) yield;
    for (let at = start; at < end; at += 1) {
      order[filled] = at;
      filled += 1;
      if (filled % passedPerStep === 0) yield;
    }
  }
  return order;
}

/** Visits all entries of a kind in order. Returns false when `emit` ended the walk. */
export function walkOrder(order: readonly SortKey[], walk: Walk): boolean {
  const [first, ...rest] = order;
  if (first === undefined) return true;
  return rest.length === 0 ? walkKey(first, walk) : walkGroups({ first, rest }, walk);
}

function walkKey(key: SortKey, { from, accepts, emit }: Walk): boolean {
  const present = key.index.order(key.descending);
  const visit = (entry: Entry): boolean => !accepts(entry) || emit(entry);
  const goesOn = key.descending ? present.forEachDescending(from, visit) : present.forEach(from, present.size, visit);
  if (!goesOn) return false;
  const { absent } = key.index;
  return absent.forEach(Math.max(0, from - present.size), absent.size, visit);
}

/**
 * The entries with the same value of a sort key. In `list`, they have the ranks `from` to `to - 1`. `start` is the
 * position of the group's first entry among all sorted entries. In a descending sort, or for absent values, `start` can
 * differ from `from`.
 */
interface Group {
  readonly list: SortedIndex;
  readonly from: number;
  readonly to: number;
  readonly start: number;
  /** The value that the entries share; undefined when they have none. */
  readonly value: string | undefined;
}

interface Keys {
  readonly first: SortKey;
  readonly rest: readonly SortKey[];
}

/**
 * Visits the entries group by group, for a sort by several keys. The entries of a group have the same value of the
 * first key.
 */
function walkGroups(keys: Keys, walk: Walk): boolean {
  const { first } = keys;
  const size = first.index.order(first.descending).size + first.index.absent.size;
  for (let position = walk.from; position < size;) {
    const group = groupAt(first, position);
    const length = group.to - group.from;
    let left = position - group.start;
    const emit = (entry: Entry): boolean => (left > 0 ? left-- > 0 : walk.emit(entry));
    const walkGroup = length * Math.log2(length) > size ? filterGroup : sortGroup;
    if (!walkGroup(group, keys, { ...walk, emit })) return false;
    position = group.start + length;
  }
  return true;
}

function sortGroup({ list, from, to }: Group, { rest }: Keys, { accepts, emit }: Walk): boolean {
  const group: Entry[] = [];
  list.forEach(from, to, (entry) => {
    if (accepts(entry)) group.push(entry);
    return true;
  });
  return group.sort(compareByOrder(rest)).every(emit);
}

/**
 * Visits the entries that share a value of the first sort key, in the order of the other sort keys. Does not sort these
 * entries: walks the whole kind in that order, by the index of the second sort key, and skips all other entries. For
 * many entries, this is faster than to sort them.
 */
function filterGroup({ value }: Group, { first, rest }: Keys, { accepts, emit }: Walk): boolean {
  const isMember = (entry: Entry): boolean => first.index.sortValue(entry, first.descending) === value;
  return walkOrder(rest, { from: 0, accepts: (entry) => accepts(entry) && isMember(entry), emit });
}

function groupAt({ index, descending }: SortKey, position: number): Group {
  const list = index.order(descending);
  const { size } = list;
  if (position >= size) return { list: index.absent, from: 0, to: index.absent.size, start: size, value: undefined };
  const rank = descending ? size - 1 - position : position;
  const value = list.valueAt(rank);
  // The start of the group is searched only if the previous entry has the same value, and its end only if the next
  // entry has the same value. When most values are different, this saves most of the searches.
  const from = rank > 0 && list.valueAt(rank - 1) === value ? list.rankOf(value) : rank;
  const to = rank + 1 < size && list.valueAt(rank + 1) === value ? list.rankAfter(value) : rank + 1;
  return { list, from, to, start: descending ? size - to : from, value };
}
