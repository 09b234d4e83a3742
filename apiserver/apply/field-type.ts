import { checkItems } from '../limits/check-items.ts';
import type { FieldShape, Shape, ShapesBelow } from '../schema/shape.ts';
import { itemElement } from './path-element.ts';

export type Fields = Readonly<Record<string, unknown>>;

const nothingBelow: ShapesBelow = { properties: new Map(), additional: 'anything', items: undefined, defaults: [] };

const emptyShape: Shape = {
  below: nothingBelow,
  identity: undefined,
  isAtomic: false,
  preservesUnknown: true,
  isNullable: true,
  defaultLength: 0,
  defaultValue: undefined,
};

/**
 * The type of values that no schema describes: objects are merged field by field, and a list is replaced as one value.
 */
const deduced = emptyShape;

const atomic: Shape = { ...emptyShape, isAtomic: true };

/** The shape of metadata, which is the same for all kinds (Kubernetes' ObjectMeta). */
const metadata: Shape = {
  ...emptyShape,
  below: {
    ...nothingBelow,
    properties: new Map<string, FieldShape>([
      ['labels', emptyShape],
      ['annotations', emptyShape],
      ['finalizers', { ...emptyShape, identity: { kind: 'set' } }],
      [
        'ownerReferences',
        { ...emptyShape, identity: { kind: 'map', keys: ['uid'] }, below: { ...nothingBelow, items: atomic } },
      ],
    ]),
  },
};

/** Returns the shape of a field, also for metadata and for fields without a schema. */
export function shapeOf(type: FieldShape): Shape {
  if (type === 'metadata') return metadata;
  return type === 'anything' ? deduced : type;
}

/** Returns the type of an object's field. */
export function typeOfField(shape: Shape, name: string): FieldShape {
  const { properties, additional } = shape.below;
  return properties.get(name) ?? additional ?? 'anything';
}

/** Returns the type of a list's items. */
export function typeOfItems(shape: Shape): FieldShape {
  return shape.below.items ?? 'anything';
}

/** True for an object in which each field has its own field managers. */
export function isGranular(value: unknown, shape: Shape): value is Fields {
  return typeof value === 'object' && value !== null && !shape.isAtomic && !Array.isArray(value);
}

/** True for a list in which each item has its own field managers. */
export function isMergedList(value: unknown, shape: Shape): value is readonly unknown[] {
  return shape.identity !== undefined && Array.isArray(value);
}

/**
 * Returns the items of a merged list by their path elements. If several items have the same path element, the first one
 * counts.
 * @throws ApiError RequestEntityTooLarge for more than 10,000 items.
 */
export function itemsByElement(list: readonly unknown[], shape: Shape): ReadonlyMap<string, unknown> {
  checkItems(list);
  return storedItemsByElement(list, shape);
}

/**
 * Returns the items of a stored list like {@link itemsByElement}, without the limit: an older server may have stored a
 * longer list, and clients must still be able to change it.
 */
export function storedItemsByElement(list: readonly unknown[], shape: Shape): ReadonlyMap<string, unknown> {
  const items = new Map<string, unknown>();
  for (const item of list) {
    const element = elementOfItem(item, shape);
    if (!items.has(element)) items.set(element, item);
  }
  return items;
}

/** Returns the key of an item in `fieldsV1`, such as `k:{"name":"a"}`. The item's list has the type map or set. */
export function elementOfItem(item: unknown, shape: Shape): string {
  const properties = shape.below.items?.below.properties;
  return itemElement(item, shape.identity ?? { kind: 'set' }, (key) => {
    const property = properties?.get(key);
    return typeof property === 'object' ? property.defaultValue : undefined;
  });
}
