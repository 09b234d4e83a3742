import { compareCodePoints } from '@homeostat/controller-runtime/api';
import type { Entry } from './entry.ts';
import { compareNames } from './entry.ts';
import type { SortKey } from './query.ts';

export interface Walk {
  /** Positions of the order to leave out, O(log n) however many. */
  readonly from: number;
  /** Sees every entry that is passed, once, before it is sorted; false: not of interest. */
  readonly accepts: (entry: Entry) => boolean;
  /** Gets the accepted entries in order; false ends the walk. */
  readonly emit: (entry: Entry) => boolean;
}

/** The order of a sort: by its keys, objects without a value last in either direction, then by name and namespace. */
export function compareByOrder(order: readonly SortKey[]): (a: Entry, b: Entry) => number {
  return (a, b) => {
    for (const key of order) {
      const compared = compareByKey(key, a, b);
      if (compared !== 0) return compared;
    }
    return compareNames(a, b);
  };
}

function compareByKey({ index, descending }: SortKey, a: Entry, b: Entry): number {
  const valueOfA = index.sortValue(a, descending);
  const valueOfB = index.sortValue(b, descending);
  if (valueOfA === valueOfB) return 0;
  if (valueOfA === undefined) return 1;
  if (valueOfB === undefined) return -1;
  return descending ? compareCodePoints(valueOfB, valueOfA) : compareCodePoints(valueOfA, valueOfB);
}

/** Goes through all entries of a kind in order. False when `emit` ended it. */
export function walkOrder(order: readonly SortKey[], walk: Walk): boolean {
  const [first, ...rest] = order;
  if (first === undefined) return true;
  return rest.length === 0 ? walkKey(first, walk) : walkGroups(first, rest, walk);
}

function walkKey(key: SortKey, { from, accepts, emit }: Walk): boolean {
  const present = key.index.order(key.descending);
  const { absent } = key.index;
  const visit = (entry: Entry): boolean => !accepts(entry) || emit(entry);
  const goesOn = key.descending ? present.forEachDescending(from, visit) : present.forEach(from, present.size, visit);
  return goesOn && absent.forEach(Math.max(0, from - present.size), absent.size, visit);
}

/** Several keys: entries that are equal by the first are collected and sorted by the others. */
function walkGroups(first: SortKey, rest: readonly SortKey[], { from, accepts, emit }: Walk): boolean {
  const start = groupStart(first, from);
  const compare = compareByOrder(rest);
  let left = from - start;
  let group: Entry[] = [];
  let value: string | undefined;
  const flush = (): boolean => {
    const sorted = group.sort(compare);
    group = [];
    return sorted.every((entry) => (left > 0 ? left-- > 0 : emit(entry)));
  };
  const collect = (entry: Entry): boolean => {
    const own = first.index.sortValue(entry, first.descending);
    const goesOn = own === value || flush();
    value = own;
    group.push(entry);
    return goesOn;
  };
  return walkKey(first, { from: start, accepts, emit: collect }) && flush();
}

/** The first position whose entry has the same value as the entry at this one. */
function groupStart({ index, descending }: SortKey, position: number): number {
  const present = index.order(descending);
  if (position >= present.size) return present.size;
  if (!descending) return present.rankOf(present.valueAt(position));
  return present.size - present.rankAfter(present.valueAt(present.size - 1 - position));
}
