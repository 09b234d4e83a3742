import { deepEqual, isJsonObject } from '@homeostat/controller-runtime/api';
import { checkItems } from '../limits/check-items.ts';
import type { FieldShape, Shape } from '../schema/shape.ts';
import type { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { Comparison } from './compare-fields.ts';
import type { FieldChanges } from './compare-fields.ts';
import { differenceSteps } from './field-set-steps.ts';
import { fieldElement, fieldOf, leaf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { isGranular, isMergedList, shapeOf, storedItemsByElement, typeOfField, typeOfItems } from './field-type.ts';
import type { Fields } from './field-type.ts';
import { allFieldsOf, asNewFields } from './fields-of.ts';

// The functions of compare-fields.ts and fields-of.ts, in steps, for objects of any size. They visit large values child
// by child. For small values they call the functions without steps, which are several times as fast.

/**
 * Values with at most this many nodes (objects, lists and scalars) are processed without steps, which is several times
 * as fast. Larger values are visited child by child, in steps.
 */
const fewNodes = 500;

/** Returns the differences between two states of an object. */
export function* compareSteps(before: Fields, after: Fields, type: FieldShape, pace: Pace): Steps<FieldChanges> {
  return yield* new LargeComparison(pace).compare([before, after], shapeOf(type));
}

/** Returns all fields of a new object except `metadata` itself, from the content of the object. */
export function* newFieldsSteps(content: Fields, type: FieldShape, pace: Pace): Steps<FieldSet> {
  const { changed } = yield* compareSteps({}, content, type, pace);
  return asNewFields(changed);
}

/** Returns the set of all fields in a new value, including the objects and lists that contain other fields. */
export function* allFieldsSteps(value: unknown, type: FieldShape, pace: Pace): Steps<FieldSet> {
  const size = sizeUpTo(value, fewNodes);
  if (pace.isStepOver(size)) yield;
  if (size <= fewNodes) return allFieldsOf(value, type);
  const shape = shapeOf(type);
  if (isMergedList(value, shape)) checkItems(value);
  const node: Record<string, FieldSet> = { '.': leaf };
  const children = childrenOf(value, shape);
  for (const [element, child] of children) {
    node[element] = yield* allFieldsSteps(child, typeOfChild(shape, element), pace);
  }
  return children.size === 0 ? leaf : node;
}

type Pair = readonly [before: unknown, after: unknown];

class LargeComparison {
  readonly #pace: Pace;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /** Compares two objects, or two lists in which each item has its own field managers. */
  *compare([before, after]: Pair, shape: Shape): Steps<FieldChanges> {
    if (Array.isArray(before) && Array.isArray(after) && after.length > before.length) checkItems(after);
    const found = new Comparison();
    const [old, next] = [childrenOf(before, shape), childrenOf(after, shape)];
    for (const [element, child] of old) {
      yield* this.#compareChild(found, element, [child, next.get(element)], typeOfChild(shape, element));
    }
    for (const [element, child] of next) {
      if (!old.has(element)) found.add(element, yield* allFieldsSteps(child, typeOfChild(shape, element), this.#pace));
    }
    return found;
  }

  *#compareChild(found: Comparison, element: string, pair: Pair, type: FieldShape): Steps<void> {
    const [before, after] = pair;
    if (before === after) return;
    const size = sizeUpTo(before, fewNodes) + sizeUpTo(after, fewNodes);
    if (this.#pace.isStepOver(size)) yield;
    if (size <= fewNodes) return found.compare(element, pair, type);
    if (before === undefined) return found.add(element, yield* allFieldsSteps(after, type, this.#pace));
    if (after === undefined) return found.remove(element, yield* allFieldsSteps(before, type, this.#pace));
    const shape = shapeOf(type);
    if (!areMerged(pair, shape)) return yield* this.#replace(found, element, pair, type);
    const below = yield* this.compare(pair, shape);
    if (below.changed !== leaf) found.add(element, below.changed);
    if (below.removed !== leaf) found.remove(element, below.removed);
  }

  *#replace(found: Comparison, element: string, [before, after]: Pair, type: FieldShape): Steps<void> {
    if (deepEqual(before, after)) return;
    const changed = yield* allFieldsSteps(after, type, this.#pace);
    found.add(element, changed);
    const old = yield* allFieldsSteps(before, type, this.#pace);
    // When the type of a value changes, the fields below it count as removed, but the field itself counts only as
    // changed.
    const gone = old === leaf ? undefined : (yield* differenceSteps({ at: old }, { at: changed }))['at'];
    if (gone !== undefined) found.remove(element, gone);
  }
}

function areMerged([before, after]: Pair, shape: Shape): boolean {
  if (isGranular(before, shape)) return isGranular(after, shape);
  return isMergedList(before, shape) && isMergedList(after, shape);
}

/** Returns the fields or items that have their own owners, by their path elements. */
function childrenOf(value: unknown, shape: Shape): ReadonlyMap<string, unknown> {
  if (isMergedList(value, shape)) return storedItemsByElement(value, shape);
  const children = new Map<string, unknown>();
  if (!isGranular(value, shape)) return children;
  for (const name in value) if (value[name] !== undefined) children.set(fieldElement(name), value[name]);
  return children;
}

function typeOfChild(shape: Shape, element: string): FieldShape {
  const name = fieldOf(element);
  return name === undefined ? typeOfItems(shape) : typeOfField(shape, name);
}

/** Returns the number of nodes of a value, or some number above the maximum if the value has more nodes. */
function sizeUpTo(value: unknown, maxNodes: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  if (Array.isArray(value)) {
    if (value.length > maxNodes) return value.length;
    const items: readonly unknown[] = value;
    for (const item of items) {
      size += sizeUpTo(item, maxNodes - size);
      if (size > maxNodes) break;
    }
    return size;
  }
  if (!isJsonObject(value)) return size;
  for (const name in value) {
    size += sizeUpTo(value[name], maxNodes - size);
    if (size > maxNodes) break;
  }
  return size;
}
