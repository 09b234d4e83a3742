import { deepEqual, isJsonObject } from '@homeostat/controller-runtime/api';
import { checkItems } from '../../limits/check-items.ts';
import { inBounds } from '../../base/in-bounds.ts';

type Item = Readonly<Record<string, unknown>>;

const noFields: Item = Object.freeze({});

/**
 * The maximum number of items that are compared in pairs, which allocates nothing. A longer list is checked with a Map.
 */
const maxPairwise = 16;

/**
 * The maximum result of {@link comparedValues} for which the items of a list are compared in pairs. If there are more
 * values, the list is checked with a Map.
 */
const maxPairwiseValues = 200;

/** The identity of the items of a list: the whole item (`set`), or some of its fields (`map`). */
export type Identity = { readonly kind: 'set' } | { readonly kind: 'map'; readonly keys: readonly string[] };

/**
 * Returns true when no two items have the same identity. In a list of type `map`, each item must also be an object or
 * null. The time is linear in the size of the list. Calls `spend` with the number of values in the objects and lists
 * that must be compared; to compare one value takes some 0.3 µs. Returns false when `spend` returns false.
 * @throws ApiError RequestEntityTooLarge for more than 10,000 items.
 */
export function isDistinct(items: readonly unknown[], identity: Identity, spend: (values: number) => boolean): boolean {
  checkItems(items);
  if (identity.kind === 'map' && !items.every(isMapItem)) return false;
  const values = comparedValues(items, identity);
  if (!spend(values)) return false;
  return items.length <= maxPairwise && values <= maxPairwiseValues
    ? arePairwiseDistinct(items, identity)
    : firstRepetitions(items, identity).length === 0;
}

/**
 * Counts the objects and lists that must be compared to find out whether the list has an item twice, and all values
 * inside them. In a list of type `map`, only the key fields of an item are compared. Does not count an item or a key
 * field that is a scalar.
 */
export function comparedValues(items: readonly unknown[], identity: Identity): number {
  let values = 0;
  for (const item of items) {
    if (identity.kind === 'set') values += valuesIn(item);
    else for (const key of identity.keys) values += valuesIn(ownField(fieldsOf(item), key));
  }
  return values;
}

function valuesIn(value: unknown): number {
  return isScalar(value) ? 0 : countValues(value, Infinity);
}

/** Counts a value, and all values inside it. Stops soon after the count exceeds `most`. */
export function countValues(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const child of Object.values(value)) {
    if (count > most) break;
    count += countValues(child, most - count);
  }
  return count;
}

/** Returns the index of the second occurrence of each item that occurs more than once. */
export function firstRepetitions(items: readonly unknown[], identity: Identity): number[] {
  const ofScalars = new Map<unknown, number>();
  const ofOthers = new Map<string, number>();
  const repeated: number[] = [];
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    const key = scalarIdentityOf(item, identity);
    const before =
      key === noScalar ? countKey(ofOthers, canonicalJson(identityOf(item, identity))) : countKey(ofScalars, key);
    if (before === 1) repeated.push(index);
  }
  return repeated;
}

/** Counts an occurrence of a key, and returns the number of earlier ones. */
function countKey<K>(times: Map<K, number>, key: K): number {
  const before = times.get(key) ?? 0;
  times.set(key, before + 1);
  return before;
}

/** The result of {@link scalarIdentityOf} if an item of a set, or a key field of a map's item, is an object or list. */
const noScalar: unique symbol = Symbol('no scalar');

/**
 * Returns a scalar for the identity of an item: the item of a set, or the key fields of the item of a map. Equal
 * identities have equal scalars. A scalar takes a tenth of the time that the JSON of the identity would take. Returns
 * {@link noScalar} when the identity contains objects or lists.
 */
function scalarIdentityOf(item: unknown, identity: Identity): unknown {
  if (identity.kind === 'set') return isScalar(item) ? item : noScalar;
  const { keys } = identity;
  const fields = fieldsOf(item);
  if (keys.length === 1) {
    const value = ownField(fields, inBounds(keys[0]));
    return isScalar(value) ? value : noScalar;
  }
  let text = '';
  for (const key of keys) {
    const value = ownField(fields, key);
    if (!isScalar(value)) return noScalar;
    // The length shows where the text of one field ends and the next one begins.
    text += typeof value === 'string' ? `${value.length}:${value}` : `${String(value)};`;
  }
  return text;
}

function ownField(fields: Item, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/**
 * Returns the identity of an item. In a list of type map, it is an object with the key fields that the item has. A
 * value that is not an object counts as an item without fields.
 */
export function identityOf(item: unknown, identity: Identity): unknown {
  if (identity.kind === 'set') return item;
  const fields = fieldsOf(item);
  return Object.fromEntries(identity.keys.filter((key) => Object.hasOwn(fields, key)).map((key) => [key, fields[key]]));
}

/** Returns true for an item that a list of type map may contain: an object, or null, which only some schemas allow. */
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
  if (!isJsonObject(value)) return JSON.stringify(value);
  const parts = Object.keys(value).sort();
  return `{${parts.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join()}}`;
}
