import type { FieldShape, Shape } from '../schema/shape.ts';
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

/**
 * Merges an applied value into a live one: objects field by field, lists of type set and map item by item; every other value
 * is replaced. Changes neither value; the result shares their parts.
 */
export function mergeApplied(live: unknown, applied: unknown, type: FieldShape): unknown {
  const shape = shapeOf(type);
  if (isGranular(live, shape) && isGranular(applied, shape)) return mergeMaps(live, applied, shape);
  if (isMergedList(live, shape) && isMergedList(applied, shape)) return mergeLists(live, applied, shape);
  return applied;
}

function mergeMaps(live: Fields, applied: Fields, shape: Shape): Fields {
  const merged: Record<string, unknown> = { ...live };
  for (const name in applied) merged[name] = mergeApplied(live[name], applied[name], typeOfField(shape, name));
  return merged;
}

/**
 * Merges two lists. The applied items are in the order of the applied list; the others keep their places between the live
 * ones. A list with an applied item twice stays as it is, and validation refuses it.
 */
function mergeLists(live: readonly unknown[], applied: readonly unknown[], shape: Shape): readonly unknown[] {
  const wanted = itemsByElement(applied, shape);
  if (wanted.size < applied.length) return applied;
  const present = itemsByElement(live, shape);
  const shared = [...wanted.keys()].filter((element) => present.has(element));
  const ahead = wanted.entries();
  const merged: unknown[] = [];
  const takeUntil = (last: string | undefined): void => {
    for (let next = ahead.next(); next.done !== true; next = ahead.next()) {
      const [element, item] = next.value;
      merged.push(present.has(element) ? mergeApplied(present.get(element), item, typeOfItems(shape)) : item);
      if (element === last) return;
    }
  };
  let taken = 0;
  for (const item of live) {
    const element = elementOfItem(item, shape);
    if (!wanted.has(element)) merged.push(item);
    else if (element === shared[taken]) {
      taken += 1;
      takeUntil(element);
    }
  }
  takeUntil(undefined);
  return merged;
}
