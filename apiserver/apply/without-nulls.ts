import type { FieldShape } from '../schema/shape.ts';
import { shapeOf, typeOfField, typeOfItems } from './field-type.ts';

/** Returns a value without the nulls that count as absent: fields whose schema is not `nullable`. Items of lists stay. */
export function withoutNulls<V>(value: V, type: FieldShape): V {
  if (typeof value !== 'object' || value === null) return value;
  const shape = shapeOf(type);
  if (Array.isArray(value)) return value.map((item: unknown) => withoutNulls(item, typeOfItems(shape))) as V;
  const fields = Object.entries(value).flatMap(([name, child]): (readonly [string, unknown])[] => {
    const childType = typeOfField(shape, name);
    return child === null && !shapeOf(childType).isNullable ? [] : [[name, withoutNulls(child as unknown, childType)]];
  });
  return Object.fromEntries(fields) as V;
}
