import { compareCodePoints } from '@homeostat/controller-runtime/api';
import type { Entry } from '../entry.ts';
import type { KindIndex } from '../kind-index.ts';
import type { SortedIndex } from '../sorted-index.ts';
import { inBounds } from '../../base/in-bounds.ts';

/** A test for the values of an index. */
export type ValueTest =
  | { readonly kind: 'any' }
  | { readonly kind: 'listed'; /** Distinct, encoded. */ readonly values: ReadonlySet<string> }
  | {
      /** The test passes for values with `from ≤ value < to`; if `accepts` is given, only for those that it accepts. */
      readonly kind: 'range';
      readonly from: string;
      readonly to: string;
      readonly accepts?: (value: string) => boolean;
    };

/** One requirement of a selector, as a test of the values of one index. */
export interface Condition {
  readonly index: KindIndex;
  readonly test: ValueTest;
  /** False: an object meets the condition if one of its values passes the test. True: if none of them passes. */
  readonly negated: boolean;
  /**
   * True when the ranges of the index that {@link test} selects contain each object at most once. If the condition is
   * not negated, `Candidates.count` is then the number of objects with a value that passes the test. If the test has a
   * function `accepts`, the count also includes objects whose values `accepts` refuses.
   */
  readonly onePerObject: boolean;
}

/** The items of a sorted index at the ranks `from` to `to - 1`. */
interface Slice {
  readonly list: SortedIndex;
  readonly from: number;
  readonly to: number;
}

/** Ranges of sorted indexes. Together they contain all entries that meet a condition, and perhaps other entries. */
export interface Candidates {
  readonly slices: readonly Slice[];
  /** The number of items in all `slices` together. */
  readonly count: number;
  /** True when {@link slices} contain exactly the entries that meet the condition, each once. */
  readonly exact: boolean;
}

/**
 * The maximum number of an object's values that are tested one by one. If an object has more values (it may have 10,000
 * labels), they are searched by bisection.
 */
const fewValues = 8;

export function isMet(condition: Condition, entry: Entry): boolean {
  const values = condition.index.valuesOf(entry);
  if (values.length > fewValues) return hasPassing(condition.test, values) !== condition.negated;
  // This is the inner loop of every walk, so it creates no closure.
  for (const value of values) {
    if (passes(condition.test, value)) return !condition.negated;
  }
  return condition.negated;
}

function passes(test: ValueTest, value: string): boolean {
  switch (test.kind) {
    case 'any':
      return true;
    case 'listed':
      return test.values.has(value);
    case 'range':
      // JavaScript compares strings by UTF-16 code units. This gives the right order here, because the bounds of a
      // range consist of a label key, which is ASCII.
      return value >= test.from && value < test.to && (test.accepts === undefined || test.accepts(value));
  }
}

/** Returns whether one of these values, which are in code point order, passes the test. */
function hasPassing(test: ValueTest, values: readonly string[]): boolean {
  switch (test.kind) {
    case 'any':
      return true;
    case 'listed':
      return hasListed(test.values, values);
    case 'range': {
      let at = placeOf(test.from, values);
      while (at < values.length && inBounds(values[at]) < test.to) {
        if (passes(test, inBounds(values[at]))) return true;
        at += 1;
      }
      return false;
    }
  }
}

/**
 * Returns whether an object has a listed value. Searches for each of the listed values, or goes through the object's
 * values if this is less work.
 */
function hasListed(listed: ReadonlySet<string>, values: readonly string[]): boolean {
  if (listed.size * Math.log2(values.length) > values.length) return values.some((value) => listed.has(value));
  for (const value of listed) if (values[placeOf(value, values)] === value) return true;
  return false;
}

/** Returns the position of the first of `values` that is not less than `value`. */
function placeOf(value: string, values: readonly string[]): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareCodePoints(inBounds(values[middle]), value) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns slices that contain the entries that meet a condition. Takes O(log n) for each listed value. Returns
 * undefined when the index cannot enumerate these entries, so that each object has to be checked.
 */
export function candidatesOf(condition: Condition): Candidates | undefined {
  if (!condition.negated) {
    const isExact = condition.onePerObject && !(condition.test.kind === 'range' && condition.test.accepts);
    return candidates(slicesOf(condition), isExact);
  }
  const { index, test } = condition;
  if (test.kind === 'any') return candidates([all(index.absent)], true);
  if (test.kind !== 'listed' || index.spec.indexFunc.multiValued) return undefined;
  return candidates([...gapsBetween(slicesOf(condition), index.values), all(index.absent)], true);
}

/**
 * Returns the number of objects that meet the condition, computed from positions in the index. Returns undefined when
 * the positions do not give the exact number, so that the objects must be visited.
 */
export function countMatches(condition: Condition, size: number): number | undefined {
  const found = candidatesOf(condition.negated ? { ...condition, negated: false } : condition);
  if (found === undefined || !found.exact) return undefined;
  return condition.negated ? size - found.count : found.count;
}

/**
 * Returns the ranges of a sorted index in which objects have values that pass the test. The ranges are in the order of
 * their positions in the index.
 */
function slicesOf({ index, test }: Condition): readonly Slice[] {
  const list = index.values;
  switch (test.kind) {
    case 'any':
      // `index.values` lists an object once for each of its values; the index for a sort lists each object only once.
      return [all(index.order(false))];
    case 'listed':
      return (
        [...test.values]
          .map((value) => ({ list, ...list.rangeOf(value) }))
          // A value that no object has gets an empty slice. Of two slices that begin at the same rank, the empty one
          // comes first.
          .sort((a, b) => a.from - b.from || a.to - b.to)
      );
    case 'range':
      return [{ list, from: list.rankOf(test.from), to: list.rankOf(test.to) }];
  }
}

function gapsBetween(slices: readonly Slice[], list: SortedIndex): readonly Slice[] {
  const gaps: Slice[] = [];
  let from = 0;
  for (const slice of slices) {
    gaps.push({ list, from, to: slice.from });
    from = slice.to;
  }
  return [...gaps, { list, from, to: list.size }];
}

function candidates(slices: readonly Slice[], exact: boolean): Candidates {
  return { slices, exact, count: slices.reduce((sum, { from, to }) => sum + to - from, 0) };
}

function all(list: SortedIndex): Slice {
  return { list, from: 0, to: list.size };
}
