import { checkItems } from '../limits/check-items.ts';
import type { FieldShape, Shape } from '../schema/shape.ts';
import { itemElement } from './path-element.ts';

export type Fields = Readonly<Record<string, unknown>>;

const emptyShape: Shape = {
  properties: new Map(),
  additional: 'anything',
  items: undefined,
  identity: undefined,
  isAtomic: false,
  preservesUnknown: true,
  isNullable: true,
  defaultLength: 0,
  defaultValue: undefined,
  defaults: [],
};

/** What no schema describes: objects are merged field by field, lists are one value. */
const deduced = emptyShape;

const atomic: Shape = { ...emptyShape, isAtomic: true };

/** Metadata is the same for all kinds (Kubernetes' ObjectMeta). */
const metadata: Shape = {
  ...emptyShape,
  properties: new Map<string, FieldShape>([
    ['labels', emptyShape],
    ['annotations', emptyShape],
    ['finalizers', { ...emptyShape, identity: { kind: 'set' } }],
    ['ownerReferences', { ...emptyShape, identity: { kind: 'map', keys: ['uid'] }, items: atomic }],
  ]),
};

/** The shape of a field, that of metadata and of what nobody described included. */
export function shapeOf(type: FieldShape): Shape {
  if (type === 'metadata') return metadata;
  return type === 'anything' ? deduced : type;
}

/** What an object's field is. */
export function typeOfField(shape: Shape, name: string): FieldShape {
  return shape.properties.get(name) ?? shape.additional ?? 'anything';
}

/** What a list's items are. */
export function typeOfItems(shape: Shape): FieldShape {
  return shape.items ?? 'anything';
}

/** An object whose fields have owners of their own. */
export function isGranular(value: unknown, shape: Shape): value is Fields {
  return typeof value === 'object' && value !== null && !shape.isAtomic && !Array.isArray(value);
}

/** A list whose items have owners of their own. */
export function isMergedList(value: unknown, shape: Shape): value is readonly unknown[] {
  return shape.identity !== undefined && Array.isArray(value);
}

/**
 * The items of a merged list by their path elements; of items that are the same, the first.
 * @throws ApiError RequestEntityTooLarge for more than 10,000 items.
 */
export function itemsByElement(list: readonly unknown[], shape: Shape): ReadonlyMap<string, unknown> {
  checkItems(list);
  return storedItemsByElement(list, shape);
}

/** The same for a list that is stored, which an older server may have let grow: what is stored has to stay changeable. */
export function storedItemsByElement(list: readonly unknown[], shape: Shape): ReadonlyMap<string, unknown> {
  const items = new Map<string, unknown>();
  for (const item of list) {
    const element = elementOfItem(item, shape);
    if (!items.has(element)) items.set(element, item);
  }
  return items;
}

/** The path element of an item of a merged list. */
export function elementOfItem(item: unknown, shape: Shape): string {
  const properties = shape.items?.properties;
  return itemElement(item, shape.identity ?? { kind: 'set' }, (key) => {
    const property = properties?.get(key);
    return typeof property === 'object' ? property.defaultValue : undefined;
  });
}
