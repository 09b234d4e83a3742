import { compareCodePoints } from '@homeostat/controller-runtime/api';
import type { Entry } from '../entry.ts';
import type { KindIndex } from '../kind-index.ts';
import type { SortedIndex } from '../sorted-index.ts';
import { inBounds } from '../../base/in-bounds.ts';

/** A test of the values under an index. */
export type ValueTest =
  | { readonly kind: 'any' }
  | { readonly kind: 'listed'; /** Distinct, encoded. */ readonly values: ReadonlySet<string> }
  | {
      /** The values `from ≤ value < to` that `accepts` accepts, if it is given. */
      readonly kind: 'range';
      readonly from: string;
      readonly to: string;
      readonly accepts?: (value: string) => boolean;
    };

/** One requirement of a selector, bound to one index. */
export interface Condition {
  readonly index: KindIndex;
  readonly test: ValueTest;
  /** True when the condition holds for the objects without a value that passes the test. */
  readonly negated: boolean;
  /** True when no object has two values that pass, so that counts of values are counts of objects. */
  readonly onePerObject: boolean;
}

/** Ranks from..to-1 of a sorted index. */
interface Slice {
  readonly list: SortedIndex;
  readonly from: number;
  readonly to: number;
}

/** All entries that meet a condition, and perhaps others. */
export interface Candidates {
  readonly slices: readonly Slice[];
  /** Total length of all slices. */
  readonly count: number;
  /** True when the slices hold exactly the entries that meet the condition, each once. */
  readonly exact: boolean;
}

/**
 * If an object has more values than this, they are searched by bisection and not one by one: an object may have 10,000
 * labels.
 */
const fewValues = 8;

export function isMet(condition: Condition, entry: Entry): boolean {
  const values = condition.index.valuesOf(entry);
  if (values.length > fewValues) return hasPassing(condition.test, values) !== condition.negated;
  // This is the inner loop of every walk, so it makes no closure.
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
      // Comparing by code unit is right: the bounds are ASCII label keys.
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

/** Searches for each of the listed values, or passes through the object's values where that is less work. */
function hasListed(listed: ReadonlySet<string>, values: readonly string[]): boolean {
  if (listed.size * Math.log2(values.length) > values.length) return values.some((value) => listed.has(value));
  for (const value of listed) if (values[placeOf(value, values)] === value) return true;
  return false;
}

/** Returns the position of the first value that does not come before this one. */
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

/** The entries that the condition's index can enumerate, in O(log n); undefined when each object has to be checked. */
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

/** The number of objects that meet the condition, without visiting any; undefined when the ranks are not enough. */
export function countMatches(condition: Condition, size: number): number | undefined {
  const found = candidatesOf(condition.negated ? { ...condition, negated: false } : condition);
  if (found === undefined || !found.exact) return undefined;
  return condition.negated ? size - found.count : found.count;
}

/** The slices of the values that pass the test, in rank order. */
function slicesOf({ index, test }: Condition): readonly Slice[] {
  const list = index.values;
  switch (test.kind) {
    case 'any':
      // Each object once, even under a multi-valued index.
      return [all(index.order(false))];
    case 'listed':
      return (
        [...test.values]
          .map((value) => ({ list, from: list.rankOf(value), to: list.rankAfter(value) }))
          // An absent value has an empty slice, which comes before the slice that starts at its position.
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
