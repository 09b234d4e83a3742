import type { Steps } from './steps.ts';
import { inBounds } from '../base/in-bounds.ts';

/** The number of items that are sorted in one piece, which takes a fraction of a millisecond. */
const runLength = 512;

/** The number of items that are merged in one step, which takes a fraction of a millisecond. */
const mergedPerStep = 1024;

type Compare<T> = (a: T, b: T) => number;

/** Sorts stably, like `Array.prototype.sort`, but in steps. A list that is already in order costs little. */
export function* sortSteps<T>(items: readonly T[], compare: Compare<T>): Steps<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += runLength) {
    runs.push(items.slice(from, from + runLength).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [first = [], second] = runs.slice(at, at + 2);
      merged.push(second === undefined ? first : yield* mergeSteps(first, second, compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeSteps<T>(first: readonly T[], second: readonly T[], compare: Compare<T>): Steps<T[]> {
  if (compare(inBounds(first.at(-1)), inBounds(second[0])) <= 0) return first.concat(second);
  const merged: T[] = [];
  let a = 0;
  let b = 0;
  while (a < first.length && b < second.length) {
    // Equal items keep their order.
    if (compare(inBounds(second[b]), inBounds(first[a])) < 0) merged.push(inBounds(second[b++]));
    else merged.push(inBounds(first[a++]));
    if (merged.length % mergedPerStep === 0) yield;
  }
  return merged.concat(first.slice(a), second.slice(b));
}
