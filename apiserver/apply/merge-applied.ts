import type { FieldShape, Shape } from '../schema/shape.ts';
import type { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import {
  elementOfItem,
  isGranular,
  isMergedList,
  itemsByElement,
  shapeOf,
  typeOfField,
  typeOfItems,
} from './field-type.ts';
import type { Fields } from './field-type.ts';

type Items = ReadonlyMap<string, unknown>;

/**
 * Merges an applied object into the live object. Objects are merged field by field, lists of type set and map item by
 * item; every other value is replaced. Neither object is changed, and the result shares parts with both.
 */
export function* mergeApplied(live: Fields, applied: Fields, type: FieldShape, pace: Pace): Steps<Fields> {
  const shape = shapeOf(type);
  return shape.isAtomic ? applied : yield* mergeMaps(live, applied, shape, pace);
}

function* mergeValues(live: unknown, applied: unknown, type: FieldShape, pace: Pace): Steps<unknown> {
  const shape = shapeOf(type);
  if (isGranular(live, shape) && isGranular(applied, shape)) return yield* mergeMaps(live, applied, shape, pace);
  if (isMergedList(live, shape) && isMergedList(applied, shape)) return yield* mergeLists(live, applied, shape, pace);
  return applied;
}

function* mergeMaps(live: Fields, applied: Fields, shape: Shape, pace: Pace): Steps<Fields> {
  const merged: Record<string, unknown> = { ...live };
  for (const name in applied) {
    if (pace.isStepOver()) yield;
    const value = applied[name];
    merged[name] =
      typeof value === 'object' ? yield* mergeValues(live[name], value, typeOfField(shape, name), pace) : value;
  }
  return merged;
}

/**
 * Merges two lists. The applied items are in the order of the applied list; the other live items keep their positions
 * between them. An applied list that has an item twice is returned unchanged, and validation refuses it.
 */
function* mergeLists(
  live: readonly unknown[],
  applied: readonly unknown[],
  shape: Shape,
  pace: Pace,
): Steps<readonly unknown[]> {
  const wanted = itemsByElement(applied, shape);
  if (wanted.size < applied.length) return applied;
  const present = itemsByElement(live, shape);
  const merged = yield* mergeItems(wanted, present, typeOfItems(shape), pace);
  const shared = [...wanted.keys()].filter((element) => present.has(element));
  const ahead = merged.entries();
  const list: unknown[] = [];
  const takeUntil = (last: string | undefined): void => {
    for (let next = ahead.next(); next.done !== true; next = ahead.next()) {
      const [element, item] = next.value;
      list.push(item);
      if (element === last) return;
    }
  };
  let taken = 0;
  for (const item of live) {
    if (pace.isStepOver()) yield;
    const element = elementOfItem(item, shape);
    if (!wanted.has(element)) list.push(item);
    else if (element === shared[taken]) {
      taken += 1;
      takeUntil(element);
    }
  }
  takeUntil(undefined);
  return list;
}

/**
 * Merges each applied item of a list into the live item with the same path element, such as `k:{"name":"a"}`. An
 * applied item without such a live item stays as it is. Returns a map from path elements to the merged items.
 */
function* mergeItems(wanted: Items, present: Items, type: FieldShape, pace: Pace): Steps<Items> {
  const merged = new Map<string, unknown>();
  for (const [element, item] of wanted) {
    if (pace.isStepOver()) yield;
    merged.set(element, present.has(element) ? yield* mergeValues(present.get(element), item, type, pace) : item);
  }
  return merged;
}
