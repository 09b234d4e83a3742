import { deepEqual } from '@homeostat/controller-runtime/api';
import { checkItems } from '../../limits/check-items.ts';

type Item = Readonly<Record<string, unknown>>;

const noFields: Item = Object.freeze({});

/** Up to this many items are compared in pairs, which needs no memory; longer lists go through a Map. */
const maxPairwise = 16;

/** How the items of a list are distinguished: as a whole (`set`), or by some of their fields (`map`). */
export type Identity = { readonly kind: 'set' } | { readonly kind: 'map'; readonly keys: readonly string[] };

/**
 * True when no two items are the same, and the items of a map are objects. Linear in the size of the list.
 * @throws ApiError RequestEntityTooLarge for more than 10,000 items.
 */
export function isDistinct(items: readonly unknown[], identity: Identity): boolean {
  checkItems(items);
  if (identity.kind === 'map' && !items.every(isMapItem)) return false;
  return items.length <= maxPairwise
    ? arePairwiseDistinct(items, identity)
    : firstRepetitions(items, identity).length === 0;
}

/** Returns the index of the second occurrence of each item that occurs more than once; further ones are not reported. */
export function firstRepetitions(items: readonly unknown[], identity: Identity): number[] {
  const times = new Map<string, number>();
  const repeated: number[] = [];
  for (const [index, item] of items.entries()) {
    const key = canonicalJson(identityOf(item, identity));
    const before = times.get(key) ?? 0;
    times.set(key, before + 1);
    if (before === 1) repeated.push(index);
  }
  return repeated;
}

/** Returns the identity of an item; for a map, its present keys. An absent item counts as an empty one. */
export function identityOf(item: unknown, identity: Identity): unknown {
  if (identity.kind === 'set') return item;
  const fields = fieldsOf(item);
  return Object.fromEntries(identity.keys.filter((key) => Object.hasOwn(fields, key)).map((key) => [key, fields[key]]));
}

/** True for items that a list of type map may hold: objects, and null when the schema allows it. */
export function isMapItem(item: unknown): item is Item | null {
  return typeof item === 'object' && !Array.isArray(item);
}

function arePairwiseDistinct(items: readonly unknown[], identity: Identity): boolean {
  for (let index = 1; index < items.length; index += 1) {
    for (let before = 0; before < index; before += 1) {
      if (isSame(items[before], items[index], identity)) return false;
    }
  }
  return true;
}

function isSame(a: unknown, b: unknown, identity: Identity): boolean {
  if (identity.kind === 'set') return deepEqual(a, b);
  const left = fieldsOf(a);
  const right = fieldsOf(b);
  return identity.keys.every(
    (key) => Object.hasOwn(left, key) === Object.hasOwn(right, key) && deepEqual(left[key], right[key]),
  );
}

function fieldsOf(item: unknown): Item {
  return isMapItem(item) ? (item ?? noFields) : noFields;
}

/** Returns JSON with sorted keys, which is equal for equal values. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = value as Item;
  const parts = Object.keys(fields).sort();
  return `{${parts.map((key) => `${JSON.stringify(key)}:${canonicalJson(fields[key])}`).join()}}`;
}
