import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { FieldShape } from '../schema/shape.ts';
import type { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { shapeOf, typeOfField, typeOfItems } from './field-type.ts';
import type { Fields } from './field-type.ts';

/**
 * Returns a copy without the fields that are null and whose schema is not `nullable`: they count as absent. Null items
 * of lists remain.
 */
export function* withoutNulls(fields: Fields, type: FieldShape, pace: Pace): Steps<Fields> {
  const shape = shapeOf(type);
  const kept: Record<string, unknown> = {};
  for (const name in fields) {
    if (pace.isStepOver()) yield;
    const value = fields[name];
    const fieldType = typeOfField(shape, name);
    if (value === null && !shapeOf(fieldType).isNullable) continue;
    const next = typeof value === 'object' ? yield* copyOf(value, fieldType, pace) : value;
    // An assignment to `__proto__` would set the prototype instead of a field.
    if (name === '__proto__') Object.defineProperty(kept, name, { ...asField, value: next });
    else kept[name] = next;
  }
  return kept;
}

const asField: PropertyDescriptor = { configurable: true, enumerable: true, writable: true };

function* copyOf(value: unknown, type: FieldShape, pace: Pace): Steps<unknown> {
  if (isJsonObject(value)) return yield* withoutNulls(value, type, pace);
  if (!Array.isArray(value)) return value;
  const given: readonly unknown[] = value;
  const items: unknown[] = [];
  const itemType = typeOfItems(shapeOf(type));
  for (const item of given) {
    if (pace.isStepOver()) yield;
    items.push(typeof item === 'object' ? yield* copyOf(item, itemType, pace) : item);
  }
  return items;
}
