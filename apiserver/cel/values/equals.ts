import {
  CelBytes,
  CelDuration,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
} from './cel-value.ts';
import type { CelObject, CelValue } from './cel-value.ts';
import type { CostMeter } from './cost-meter.ts';

/** An opaque value of a library. Two of them are equal when they have the same type and the same identity. */
export interface Comparable {
  readonly identity: string;
}

/** True when two values are equal. Numbers of different types are equal when they are the same number. */
export function equals(first: CelValue, second: CelValue, meter: CostMeter): boolean {
  if (first === second) return true;
  if (first === null || second === null) return false;
  if (typeof first === 'string' || typeof second === 'string') return false;
  if (typeof first === 'object' && typeof second === 'object') return equalObjects(first, second, meter);
  return equalNumbers(first, second);
}

function equalNumbers(first: CelValue, second: CelValue): boolean {
  const [left, right] = [numberOf(first), numberOf(second)];
  // `==` compares a bigint with a number exactly.
  // oxlint-disable-next-line eqeqeq
  return left !== undefined && right !== undefined && left == right;
}

function numberOf(value: CelValue): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof CelUint ? value.value : undefined;
}

function equalObjects(first: CelObject, second: CelObject, meter: CostMeter): boolean {
  if (first instanceof CelList) return second instanceof CelList && equalLists(first, second, meter);
  if (first instanceof CelMap) return second instanceof CelMap && equalMaps(first, second, meter);
  if (first instanceof CelUint) return second instanceof CelUint && first.value === second.value;
  if (first instanceof CelBytes) return second instanceof CelBytes && Buffer.compare(first.value, second.value) === 0;
  if (first instanceof CelTimestamp) return second instanceof CelTimestamp && first.nanos === second.nanos;
  if (first instanceof CelDuration) return second instanceof CelDuration && first.nanos === second.nanos;
  if (first instanceof CelTypeValue) return second instanceof CelTypeValue && first.name === second.name;
  if (first instanceof CelOptional) return second instanceof CelOptional && equalOptionals(first, second, meter);
  if (first.typeName !== second.typeName) return false;
  return isComparable(first) && isComparable(second) && first.identity === second.identity;
}

function isComparable(value: CelObject): value is CelObject & Comparable {
  return 'identity' in value;
}

function equalOptionals(first: CelOptional, second: CelOptional, meter: CostMeter): boolean {
  if (first.value === undefined || second.value === undefined) return first.value === second.value;
  return equals(first.value, second.value, meter);
}

function equalMaps(first: CelMap, second: CelMap, meter: CostMeter): boolean {
  const keys = first.keys();
  meter.add(keys.length * keyCost);
  if (keys.length !== second.keys().length) return false;
  for (const key of keys) {
    const left = first.get(key);
    const right = second.get(key);
    if (left === undefined || right === undefined || !equals(left, right, meter)) return false;
  }
  return true;
}

/** The costs to compare one item of a list, and one entry of a map. Kubernetes does not count them. */
const itemCost = 4;
const keyCost = 10;

function equalLists(first: CelList, second: CelList, meter: CostMeter): boolean {
  if (first.length !== second.length) return false;
  if (first.identity !== 'position') return equalSets(first, second, meter);
  for (let index = 0; index < first.length; index += 1) {
    meter.add(itemCost);
    if (!equals(first.at(index), second.at(index), meter)) return false;
  }
  return true;
}

/** Compares two lists whose items are identified by value or keys. The order of the items does not count. */
function equalSets(first: CelList, second: CelList, meter: CostMeter): boolean {
  const { identity } = first;
  const found = new Map<string, CelValue>();
  for (let index = 0; index < first.length; index += 1) {
    const item = first.at(index);
    found.set(itemIdentity(item, identity, meter), item);
  }
  const seen = new Set<string>();
  for (let index = 0; index < second.length; index += 1) {
    const item = second.at(index);
    const key = itemIdentity(item, identity, meter);
    const same = found.get(key);
    if (same === undefined || !equals(same, item, meter)) return false;
    seen.add(key);
  }
  return seen.size === found.size;
}

/** Returns a text that is the same for all items with the same identity. */
export function itemIdentity(item: CelValue, identity: CelList['identity'], meter: CostMeter): string {
  if (typeof identity === 'string' || !(item instanceof CelMap)) return textOf(item, meter);
  return JSON.stringify(identity.map((field) => textOf(item.get(field) ?? null, meter)));
}

function textOf(value: CelValue, meter: CostMeter): string {
  meter.add(1);
  const number = numberOf(value);
  // `1` and `1.0` are equal, so both must have the text `n1`.
  if (number !== undefined) return `n${Number.isInteger(number) ? BigInt(number) : number}`;
  if (typeof value !== 'object' || value === null) return `${typeof value} ${String(value)}`;
  if (value instanceof CelTimestamp || value instanceof CelDuration) return `${value.typeName} ${value.nanos}`;
  if (value instanceof CelBytes) return `bytes ${Buffer.from(value.value).toString('base64')}`;
  if (value instanceof CelList)
    return JSON.stringify(Array.from({ length: value.length }, (_, index) => textOf(value.at(index), meter)));
  if (value instanceof CelTypeValue) return `type ${value.name}`;
  if (value instanceof CelOptional) return `optional ${value.value === undefined ? '' : textOf(value.value, meter)}`;
  if (!(value instanceof CelMap)) return `${value.typeName} ${isComparable(value) ? value.identity : ''}`;
  const entries = value.keys().map((key) => [textOf(key, meter), textOf(value.get(key) ?? null, meter)]);
  return JSON.stringify(entries.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)));
}
