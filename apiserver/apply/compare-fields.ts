import { deepEqual } from '@homeostat/controller-runtime/api';
import type { FieldShape, Shape } from '../schema/shape.ts';
import { difference, fieldElement, leaf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import {
  isGranular,
  isMergedList,
  itemsByElement,
  shapeOf,
  storedItemsByElement,
  typeOfField,
  typeOfItems,
} from './field-type.ts';
import type { Fields } from './field-type.ts';
import { allFieldsOf } from './fields-of.ts';

/** The fields that a write changed and removed. */
export interface FieldChanges {
  /** Fields that are new or have another value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** Returns the differences between two states of an object. Creates no field sets for subtrees that are equal. */
export function compareFields(before: Fields, after: Fields, type: FieldShape): FieldChanges {
  const found = new Comparison();
  found.compareMaps(before, after, shapeOf(type));
  return found;
}

/** Collects the fields that differ between two objects or two lists, at all levels. */
export class Comparison implements FieldChanges {
  changed: FieldSet = leaf;
  removed: FieldSet = leaf;

  compareMaps(before: Fields, after: Fields, shape: Shape): void {
    for (const name in before) {
      const old = before[name];
      const next = Object.hasOwn(after, name) ? after[name] : undefined;
      if (old !== next) this.compare(fieldElement(name), [old, next], typeOfField(shape, name));
    }
    for (const name in after) {
      if (Object.hasOwn(before, name) || after[name] === undefined) continue;
      this.add(fieldElement(name), allFieldsOf(after[name], typeOfField(shape, name)));
    }
  }

  compareLists(before: readonly unknown[], after: readonly unknown[], shape: Shape): void {
    const old = storedItemsByElement(before, shape);
    const next = after.length > before.length ? itemsByElement(after, shape) : storedItemsByElement(after, shape);
    const type = typeOfItems(shape);
    for (const [element, item] of old) this.compare(element, [item, next.get(element)], type);
    for (const [element, item] of next) if (!old.has(element)) this.add(element, allFieldsOf(item, type));
  }

  compare(element: string, [before, after]: readonly [unknown, unknown], type: FieldShape): void {
    if (before === after) return;
    if (before === undefined) return this.add(element, allFieldsOf(after, type));
    if (after === undefined) return this.remove(element, allFieldsOf(before, type));
    const shape = shapeOf(type);
    const below = new Comparison();
    if (isGranular(before, shape) && isGranular(after, shape)) below.compareMaps(before, after, shape);
    else if (isMergedList(before, shape) && isMergedList(after, shape)) below.compareLists(before, after, shape);
    else return this.#replace(element, [before, after], type);
    if (below.changed !== leaf) this.add(element, below.changed);
    if (below.removed !== leaf) this.remove(element, below.removed);
  }

  #replace(element: string, [before, after]: readonly [unknown, unknown], type: FieldShape): void {
    if (deepEqual(before, after)) return;
    const changed = allFieldsOf(after, type);
    this.add(element, changed);
    const old = allFieldsOf(before, type);
    if (old === leaf) return;
    // When the type of a value changes, the fields below it count as removed, but the field itself counts only as
    // changed.
    const gone = difference({ at: old }, { at: changed })['at'];
    if (gone !== undefined) this.remove(element, gone);
  }

  add(element: string, node: FieldSet): void {
    this.changed = withNode(this.changed, element, node);
  }

  remove(element: string, node: FieldSet): void {
    this.removed = withNode(this.removed, element, node);
  }
}

/** Returns the set with this node. The shared empty set is copied first; any other set is changed in place. */
function withNode(set: FieldSet, element: string, node: FieldSet): FieldSet {
  const own: Record<string, FieldSet> = set === leaf ? {} : set;
  own[element] = node;
  return own;
}
