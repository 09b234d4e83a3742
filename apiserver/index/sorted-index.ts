import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { inBounds } from '../base/in-bounds.ts';
import { compareUnits, isWide } from './lists/compare-strings.ts';
import type { EntryTable } from './entry-table.ts';
import type { Entry } from './entry.ts';
import { bucketSize, RowBuckets } from './lists/row-buckets.ts';
import { Block } from './slabs.ts';
import { StoredEntry } from './stored-entry.ts';
import { type Item, WaitingItems } from './lists/waiting-items.ts';

/** A function that is called for each item with its row. If it returns false, the iteration ends. */
export type Visit = (entry: Entry, row: number) => boolean;

/**
 * Where the values of an index's items are. `stored`: with the items. `none`: they are not stored, because all are the
 * empty string. `position` and `isLast`: in the records of the stored objects. A record has the values of all indexes;
 * `position` selects the index. The value of an item is the first of the record's values for this index, or the last
 * one if `isLast`.
 */
export type ItemValues = 'stored' | 'none' | { readonly position: number; readonly isLast: boolean };

interface Position {
  readonly bucket: number;
  readonly at: number;
}

/**
 * The position to search for. The items with the value `value` are in the order of their objects' names. `tie` selects
 * a position among these items: before all of them, after all of them, or the place of the object whose row in the
 * {@link EntryTable} has this number.
 */
interface Probe {
  readonly value: string;
  readonly tie: number | 'before' | 'after';
}

const loadedBucket = 96;
const minBucket = 32;

/**
 * A multimap from strings to the rows of a table, with ranks. Items are ordered by value (by code points), name and
 * namespace. An object may have several values, and has one item for each. An item takes four bytes, and no JavaScript
 * object unless its value is stored with it. The index must not be changed during an iteration. An item must be removed
 * before the record of its row is replaced by one with other values. The costs below leave out the work of the first
 * read after writes: it places the inserted items in buckets, and computes the ranks of the buckets again.
 */
export class SortedIndex {
  readonly #table: EntryTable;
  readonly #itemValues: ItemValues;
  #buckets: RowBuckets;
  /** The rank of each bucket's first item. It is valid for the buckets before #stale. */
  readonly #starts: number[] = [];
  #stale = 0;
  #size = 0;
  /** Items that were inserted and are not in a bucket yet. All of them are placed before the next read. */
  readonly #waiting = new WaitingItems((items) => this.#sort(items));
  readonly #record = new StoredEntry(noBlock, 0);
  readonly #other = new StoredEntry(noBlock, 0);

  constructor(table: EntryTable, itemValues: ItemValues) {
    this.#table = table;
    this.#itemValues = itemValues;
    this.#buckets = new RowBuckets(itemValues === 'stored');
  }

  get size(): number {
    return this.#size + this.#waiting.size;
  }

  /**
   * Replaces all items of the index. `rows` has the row of each new item, in the order of the index. `values` has the
   * values of the same items; it is needed only if this index stores values with its items ({@link ItemValues}).
   */
  load(rows: ArrayLike<number>, values?: readonly string[]): void {
    this.#waiting.clear();
    this.#fill(rows, values);
  }

  insert(value: string, row: number): void {
    this.#placeAll(this.#waiting.add({ value, row }));
  }

  /** Removes the item with this value and this row. Returns false when there is none. */
  remove(value: string, row: number): boolean {
    const found = this.#find(value, row);
    if (found === undefined) return this.#waiting.remove(value, row);
    const buckets = this.#buckets;
    const { bucket, at } = found;
    const isLastItem = buckets.sizeOf(bucket) === 1;
    buckets.remove(bucket, at);
    this.#size -= 1;
    this.#changed(bucket);
    if (isLastItem) return true;
    if (at === buckets.sizeOf(bucket)) this.#note(bucket);
    if (buckets.sizeOf(bucket) < minBucket) this.#merge(bucket);
    return true;
  }

  /** Returns the rank of the value's first item, which is the number of items with a lesser value. O(log n). */
  rankOf(value: string): number {
    this.#place();
    return this.#rank(this.#search({ value, tie: 'before' }));
  }

  /** Returns the rank after the value's last item. O(log n). */
  rankAfter(value: string): number {
    this.#place();
    return this.#rank(this.#search({ value, tie: 'after' }));
  }

  /** Returns {@link rankOf} and {@link rankAfter} of a value. A value without items takes only one search. */
  rangeOf(value: string): { readonly from: number; readonly to: number } {
    this.#place();
    const first = this.#search({ value, tie: 'before' });
    const from = this.#rank(first);
    const isPresent = first.bucket < this.#buckets.length && this.#compareValue(first.bucket, first.at, value) === 0;
    return { from, to: isPresent ? this.#rank(this.#search({ value, tie: 'after' })) : from };
  }

  /** Returns the value of the item at a rank, from 0 to the number of items minus one. */
  valueAt(rank: number): string {
    this.#place();
    const { bucket, at } = this.#locate(rank);
    return this.#valueAt(bucket, at);
  }

  /** Returns the entry of the item at a rank, from 0 to the number of items minus one. */
  entryAt(rank: number): Entry {
    this.#place();
    const { bucket, at } = this.#locate(rank);
    return this.#table.entry(this.#buckets.row(bucket, at));
  }

  /**
   * Visits the items at the ranks `from` to `to - 1`, in ascending order. The first one is reached in O(log n). Returns
   * false when the visitor ended the iteration.
   */
  forEach(from: number, to: number, visit: Visit): boolean {
    this.#place();
    let left = Math.min(to, this.#size) - from;
    if (left <= 0) return true;
    const buckets = this.#buckets;
    let { bucket, at } = this.#locate(from);
    for (; left > 0; bucket += 1, at = 0) {
      const end = Math.min(buckets.sizeOf(bucket), at + left);
      left -= end - at;
      for (; at < end; at += 1) {
        const row = buckets.row(bucket, at);
        if (!visit(this.#table.entry(row), row)) return false;
      }
    }
    return true;
  }

  /**
   * Calls `visit` with the value and the rank of each item at the ranks `from` to `to - 1`, in ascending order, until
   * `visit` returns false. `visit` must not change the index.
   */
  forEachValue(from: number, to: number, visit: (value: string, rank: number) => boolean): void {
    this.#place();
    const end = Math.min(to, this.#size);
    if (from >= end) return;
    let { bucket, at } = this.#locate(from);
    for (let rank = from; rank < end; rank += 1) {
      if (!visit(this.#valueAt(bucket, at), rank)) return;
      at += 1;
      if (at < this.#buckets.sizeOf(bucket)) continue;
      bucket += 1;
      at = 0;
    }
  }

  /** Returns the rows of the items at the ranks `from` to `to - 1`; by default, of all items. */
  rows(from = 0, to: number = this.size): Int32Array {
    this.#place();
    const rows = new Int32Array(Math.max(0, Math.min(to, this.#size) - from));
    let filled = 0;
    if (rows.length === 0) return rows;
    for (let { bucket, at } = this.#locate(from); filled < rows.length; bucket += 1, at = 0)
      filled += this.#buckets.copyTo({ bucket, at }, rows, filled);
    return rows;
  }

  /**
   * Visits the items from the highest value to the lowest; equal values are in the ascending order of names. The first
   * `offset` items in this order are skipped. The first item is reached in O(log n). Returns false when the visitor
   * ended the iteration.
   */
  forEachDescending(offset: number, visit: Visit): boolean {
    this.#place();
    let last = this.#size - 1 - offset;
    if (last < 0) return true;
    const firstValue = this.valueAt(last);
    let end = this.rankAfter(firstValue);
    let skipped = offset - (this.#size - end);
    while (last >= 0) {
      const value = this.valueAt(last);
      // Most values have one item. If the item before `last` has another value, `last` is the first item of its value,
      // so no search for the first item is needed.
      const isAlone = last > 0 && this.valueAt(last - 1) !== value && skipped === 0 && end === last + 1;
      const start = isAlone ? last : this.rankOf(value);
      if (!this.forEach(start + skipped, end, visit)) return false;
      skipped = 0;
      end = start;
      last = start - 1;
    }
    return true;
  }

  /** Places the waiting items in buckets. */
  #place(): void {
    if (this.#waiting.size > 0) this.#placeAll(this.#waiting.takeAll());
  }

  #sort(items: Item[]): void {
    const compare = items.some(({ value }) => isWide(value)) ? compareCodePoints : compareUnits;
    items.sort((a, b) => compare(a.value, b.value) || this.#compareNames(a.row, b.row));
  }

  /** Inserts items, which are sorted, into the buckets. */
  #placeAll(items: readonly Item[]): void {
    if (items.length === 0) return;
    if (this.#buckets.length === 0) {
      const rows = items.map(({ row }) => row);
      return this.#fill(rows, this.#itemValues === 'stored' ? items.map(({ value }) => value) : undefined);
    }
    for (let at = 0; at < items.length;) at = this.#placeInBucket(items, at);
  }

  /** Replaces all buckets by new ones with the given rows, which must be in order. */
  #fill(rows: ArrayLike<number>, values?: readonly string[]): void {
    const buckets = new RowBuckets(this.#itemValues === 'stored');
    this.#buckets = buckets;
    this.#size = rows.length;
    this.#stale = 0;
    for (let from = 0; from < rows.length; from += loadedBucket) {
      const bucket = buckets.length;
      buckets.begin(bucket);
      const to = Math.min(rows.length, from + loadedBucket);
      for (let at = from; at < to; at += 1) buckets.push(bucket, inBounds(rows[at]), values?.[at]);
      this.#note(bucket);
    }
  }

  /**
   * Places the items that belong in the same bucket as the first of them, and returns the position of the next item. If
   * the bucket is full, only splits it, and places no item.
   */
  #placeInBucket(items: readonly Item[], from: number): number {
    const buckets = this.#buckets;
    const first = inBounds(items[from]);
    const found = this.#search({ value: first.value, tie: first.row });
    const bucket = Math.min(found.bucket, buckets.length - 1);
    if (buckets.sizeOf(bucket) === bucketSize) {
      this.#split(bucket);
      return from;
    }
    const isLast = bucket === buckets.length - 1;
    let at = found.bucket === bucket ? found.at : buckets.sizeOf(bucket);
    let next = from;
    let item: Item | undefined = first;
    do {
      buckets.insert(bucket, at, item);
      next += 1;
      item = items[next];
      if (item !== undefined) at = this.#searchIn(bucket, { value: item.value, tie: item.row }, at + 1);
    } while (item !== undefined && buckets.sizeOf(bucket) < bucketSize && (isLast || at < buckets.sizeOf(bucket)));
    this.#size += next - from;
    this.#note(bucket);
    this.#changed(bucket + 1);
    return next;
  }

  /** Returns the first position whose item is not before the probe. */
  #search(probe: Probe): Position {
    const { lastValues, lastRows } = this.#buckets;
    let low = 0;
    let high = this.#buckets.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = compareTexts(inBounds(lastValues[middle]), probe.value);
      if (this.#isBefore(order, inBounds(lastRows[middle]), probe.tie)) low = middle + 1;
      else high = middle;
    }
    return { bucket: low, at: low === this.#buckets.length ? 0 : this.#searchIn(low, probe) };
  }

  #searchIn(bucket: number, { value, tie }: Probe, from = 0): number {
    let low = from;
    let high = this.#buckets.sizeOf(bucket);
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = this.#compareValue(bucket, middle, value);
      if (this.#isBefore(order, this.#buckets.row(bucket, middle), tie)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isBefore(order: number, row: number, tie: Probe['tie']): boolean {
    if (order !== 0) return order < 0;
    if (typeof tie === 'string') return tie === 'after';
    return row !== tie && this.#compareNames(row, tie) < 0;
  }

  #compareValue(bucket: number, at: number, value: string): number {
    const itemValues = this.#itemValues;
    if (typeof itemValues === 'string') return compareTexts(this.#valueAt(bucket, at), value);
    const record = this.#table.read(this.#buckets.row(bucket, at), this.#record);
    return record.compareValue(itemValues.position, itemValues.isLast, value);
  }

  #valueAt(bucket: number, at: number): string {
    const itemValues = this.#itemValues;
    if (itemValues === 'none') return '';
    if (itemValues === 'stored') return this.#buckets.value(bucket, at);
    const record = this.#table.read(this.#buckets.row(bucket, at), this.#record);
    return inBounds(record.oneValueAt(itemValues.position, itemValues.isLast));
  }

  #compareNames(a: number, b: number): number {
    return this.#table.read(a, this.#record).compareNames(this.#table.read(b, this.#other));
  }

  #find(value: string, row: number): Position | undefined {
    const found = this.#search({ value, tie: row });
    if (found.bucket === this.#buckets.length || found.at === this.#buckets.sizeOf(found.bucket)) return undefined;
    if (this.#buckets.row(found.bucket, found.at) !== row) return undefined;
    return this.#compareValue(found.bucket, found.at, value) === 0 ? found : undefined;
  }

  #locate(rank: number): Position {
    const starts = this.#freshStarts();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (inBounds(starts[middle]) <= rank) low = middle;
      else high = middle - 1;
    }
    return { bucket: low, at: rank - inBounds(starts[low]) };
  }

  #rank(position: Position): number {
    if (position.bucket === this.#buckets.length) return this.#size;
    return inBounds(this.#freshStarts()[position.bucket]) + position.at;
  }

  // The ranks are updated when one is requested. This takes one addition for each bucket, about 5 µs for 1,000,000
  // items, and no time during a series of writes.
  #freshStarts(): readonly number[] {
    const starts = this.#starts;
    const { sizes, length } = this.#buckets;
    if (this.#stale >= length && starts.length === length) return starts;
    for (let i = this.#stale; i < length; i += 1) {
      starts[i] = i === 0 ? 0 : inBounds(starts[i - 1]) + inBounds(sizes[i - 1]);
    }
    starts.length = length;
    this.#stale = length;
    return starts;
  }

  #changed(from: number): void {
    if (from < this.#stale) this.#stale = from;
  }

  #note(bucket: number): void {
    this.#buckets.note(bucket, this.#valueAt(bucket, this.#buckets.sizeOf(bucket) - 1));
  }

  #split(bucket: number): void {
    this.#buckets.begin(bucket + 1);
    this.#buckets.moveUp(bucket, bucketSize / 2);
    this.#note(bucket);
    this.#note(bucket + 1);
    this.#changed(bucket);
  }

  /** Merges a small bucket with the next one (the last with the previous one), if both have at most 96 items in all. */
  #merge(bucket: number): void {
    const left = bucket === this.#buckets.length - 1 ? bucket - 1 : bucket;
    if (left < 0 || this.#buckets.sizeOf(left) + this.#buckets.sizeOf(left + 1) > loadedBucket) return;
    this.#buckets.moveUp(left, 0);
    this.#changed(left);
  }
}

const noBlock = new Block(0);

/** Compares by code points. Tests first whether the texts are equal, because this test is faster. */
function compareTexts(a: string, b: string): number {
  return a === b ? 0 : compareCodePoints(a, b);
}
