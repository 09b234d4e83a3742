import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { sortSteps } from '../turns/sort-steps.ts';
import type { Steps } from '../turns/steps.ts';
import { compareUnits, isWide } from './entry.ts';
import type { Slot } from './entry.ts';
import { SortedIndex } from './sorted-index.ts';
import { inBounds } from '../base/in-bounds.ts';

/** The initial content of one index, in the order of names. */
export interface IndexItems {
  /** `values[i]` is one of `slots[i]`. */
  readonly values: string[];
  readonly slots: Slot[];
}

/** Values that are sorted in one step: about a millisecond. */
const itemsPerStep = 8192;

/** Adds one object's values. */
export function addItems(items: IndexItems, slot: Slot, values: readonly string[]): void {
  for (const value of values) {
    items.values.push(value);
    items.slots.push(slot);
  }
}

/** Slots must come in the order of their names; a stable sort keeps that order among equal values. */
export function* sortedIndexOf({ values, slots }: IndexItems): Steps<SortedIndex> {
  const compare = (yield* hasWide(values)) ? compareCodePoints : compareUnits;
  const positions = Array.from(values, (_, i) => i);
  const order = yield* sortSteps(positions, (a, b) => compare(inBounds(values[a]), inBounds(values[b])));
  const sortedValues: string[] = [];
  const sortedSlots: Slot[] = [];
  for (const i of order) {
    sortedValues.push(inBounds(values[i]));
    sortedSlots.push(inBounds(slots[i]));
    if (sortedValues.length % itemsPerStep === 0) yield;
  }
  const index = new SortedIndex();
  yield* index.loadSteps(sortedValues, sortedSlots);
  return index;
}

function* hasWide(values: readonly string[]): Steps<boolean> {
  for (let from = 0; from < values.length; from += itemsPerStep) {
    if (values.slice(from, from + itemsPerStep).some(isWide)) return true;
    yield;
  }
  return false;
}
