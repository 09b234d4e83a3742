import type { FieldShape, Shape } from '../schema/shape.ts';
import type { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { childOf, fieldOf, isMember } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { elementOfItem, isGranular, isMergedList, shapeOf, typeOfField, typeOfItems } from './field-type.ts';
import type { Fields } from './field-type.ts';

/** The fields that a manager owned before a write, and the fields that have owners after it. */
export interface Ownership {
  /** The fields that the manager owned before the write. */
  readonly last: FieldSet;
  /** All fields that any manager owns after the write. */
  readonly owned: FieldSet | undefined;
}

/**
 * Removes the fields that the manager owned before, and that no manager owns now. A field that the schema declares is
 * removed when neither it nor a field below it has an owner. An item of a list, or an entry of a map, is removed with
 * all its content when the item or entry itself has no owner.
 */
export function* removeUnowned(object: Fields, ownership: Ownership, type: FieldShape, pace: Pace): Steps<Fields> {
  return yield* removeFromMap(object, ownership, shapeOf(type), pace);
}

function* removeFrom(value: unknown, ownership: Ownership, type: FieldShape, pace: Pace): Steps<unknown> {
  if (typeof value !== 'object') return value;
  const shape = shapeOf(type);
  if (isGranular(value, shape)) return yield* removeFromMap(value, ownership, shape, pace);
  return isMergedList(value, shape) ? yield* removeFromList(value, ownership, shape, pace) : value;
}

function* removeFromMap(fields: Fields, { last, owned }: Ownership, shape: Shape, pace: Pace): Steps<Fields> {
  let rest: Record<string, unknown> | undefined;
  for (const element in last) {
    if (pace.isStepOver()) yield;
    const name = fieldOf(element);
    const node = last[element];
    if (name === undefined || node === undefined || !Object.hasOwn(fields, name)) continue;
    const below = { last: node, owned: childOf(owned, element) };
    const isDeclared = shape.below.properties.has(name);
    const next = isGivenUp(below, isDeclared)
      ? undefined
      : yield* removeFrom(fields[name], below, typeOfField(shape, name), pace);
    if (next === fields[name]) continue;
    rest ??= { ...fields };
    if (next === undefined) delete rest[name];
    else rest[name] = next;
  }
  return rest ?? fields;
}

function* removeFromList(
  items: readonly unknown[],
  { last, owned }: Ownership,
  shape: Shape,
  pace: Pace,
): Steps<readonly unknown[]> {
  const rest: unknown[] = [];
  for (const item of items) {
    if (pace.isStepOver()) yield;
    const element = elementOfItem(item, shape);
    const node = childOf(last, element);
    if (node === undefined) {
      rest.push(item);
      continue;
    }
    const below = { last: node, owned: childOf(owned, element) };
    if (!isGivenUp(below, false)) rest.push(yield* removeFrom(item, below, typeOfItems(shape), pace));
  }
  return rest;
}

function isGivenUp({ last, owned }: Ownership, isDeclared: boolean): boolean {
  if (!isDeclared && !isMember(last)) return false;
  return owned === undefined || !(isDeclared || isMember(owned));
}
