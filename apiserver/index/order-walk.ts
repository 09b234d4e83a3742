import type { Entry } from './entry.ts';
import { compareNames } from './entry.ts';
import type { SortKey } from './query.ts';
import type { SortedIndex } from './sorted-index.ts';

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

/** The entries in the order of a sort; the array may be the one that was given. */
export function sortByOrder(entries: Entry[], order: readonly SortKey[]): readonly Entry[] {
  const [key] = order;
  if (key === undefined || order.length > 1) return entries.sort(compareByOrder(order));
  // Each value is looked up once, not at each comparison: half the time for 500 entries.
  const { index, descending } = key;
  const keyed = entries.map((entry) => ({ entry, value: index.sortValue(entry, descending) }));
  const sign = descending ? -1 : 1;
  keyed.sort((a, b) => {
    if (a.value === b.value) return compareNames(a.entry, b.entry);
    if (a.value === undefined) return 1;
    if (b.value === undefined) return -1;
    return sign * index.compare(a.value, b.value);
  });
  return keyed.map(({ entry }) => entry);
}

function compareByKey({ index, descending }: SortKey, a: Entry, b: Entry): number {
  const valueOfA = index.sortValue(a, descending);
  const valueOfB = index.sortValue(b, descending);
  if (valueOfA === valueOfB) return 0;
  if (valueOfA === undefined) return 1;
  if (valueOfB === undefined) return -1;
  return descending ? index.compare(valueOfB, valueOfA) : index.compare(valueOfA, valueOfB);
}

/** Goes through all entries of a kind in order. False when `emit` ended it. */
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

/** Entries that are equal by a key: ranks from..to-1 of a list, which begin at `start` in the order of the key. */
interface Group {
  readonly list: SortedIndex;
  readonly from: number;
  readonly to: number;
  readonly start: number;
  /** undefined: they have none. */
  readonly value: string | undefined;
}

interface Keys {
  readonly first: SortKey;
  readonly rest: readonly SortKey[];
}

/** Several keys: group by group of those that are equal by the first. */
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

/** For a group that takes longer to sort than to pick out of the whole kind, which the next key has in order. */
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
  // A look at the neighbours saves the searches where most values are different.
  const from = rank > 0 && list.valueAt(rank - 1) === value ? list.rankOf(value) : rank;
  const to = rank + 1 < size && list.valueAt(rank + 1) === value ? list.rankAfter(value) : rank + 1;
  return { list, from, to, start: descending ? size - to : from, value };
}
