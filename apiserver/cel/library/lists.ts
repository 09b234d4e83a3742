import { overload } from '../types/declare-function.ts';
import type { Overload } from '../types/cel-function.ts';
import { CelError } from '../values/cel-error.ts';
import { ArrayList, CelDuration, CelList, CelOptional, CelUint } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import { equals, itemIdentity } from '../values/equals.ts';
import { intAt, int64, itemsOf, listAt, uint64 } from './arguments.ts';
import { compareValues } from './operators.ts';
import { durationInRange } from './time-values.ts';

const ordered = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes'];

/** The length of the longest list that `lists.range` returns. */
const maxRange = 100_000n;

/** Returns the functions of lists, from Kubernetes and from CEL's own extension. */
export function listOverloads(): readonly Overload[] {
  return [
    ...ordered.flatMap((type) => [
      overload(`list(${type})::isSorted() bool`, (args, meter) => isSorted(itemsOf(listAt(args, 0)), meter)),
      overload(`list(${type})::min() ${type}`, (args, meter) => extreme(listAt(args, 0), 'min', meter)),
      overload(`list(${type})::max() ${type}`, (args, meter) => extreme(listAt(args, 0), 'max', meter)),
      overload(`list(${type})::sort() list(${type})`, (args, meter) => sorted(listAt(args, 0), meter)),
      overload(`list(A)::@sortByAssociatedKeys(list(${type})) list(A)`, (args, meter) => sortedBy(args, meter)),
    ]),
    overload('list(int)::sum() int', (args) => itemsOf(listAt(args, 0)).reduce<bigint>(addInt, 0n)),
    overload('list(uint)::sum() uint', (args) => sumUint(itemsOf(listAt(args, 0)))),
    overload('list(double)::sum() double', (args) =>
      itemsOf(listAt(args, 0)).reduce<number>((sum, item) => sum + Number(item), 0),
    ),
    overload('list(duration)::sum() duration', (args) => sumDuration(itemsOf(listAt(args, 0)))),
    overload('list(A)::indexOf(A) int', (args, meter) => indexOf(args, meter)),
    overload('list(A)::lastIndexOf(A) int', (args, meter) => lastIndexOf(args, meter)),
    ...shapes(),
  ];
}

function shapes(): readonly Overload[] {
  return [
    overload('list(A)::slice(int, int) list(A)', (args) => slice(args)),
    overload('list(A)::reverse() list(A)', (args, meter) => made(itemsOf(listAt(args, 0)).toReversed(), meter)),
    overload('list(A)::distinct() list(A)', (args, meter) => distinct(listAt(args, 0), meter)),
    overload('list(A)::first() optional(A)', (args) => new CelOptional(itemsOf(listAt(args, 0))[0])),
    overload('list(A)::last() optional(A)', (args) => new CelOptional(itemsOf(listAt(args, 0)).at(-1))),
    overload('list(list(A))::flatten() list(A)', (args, meter) => flatten(listAt(args, 0), meter)),
    overload('list(dyn)::flatten(int) list(dyn)', (args, meter) => flattenTo(listAt(args, 0), intAt(args, 1), meter)),
    overload('optional.unwrap(list(optional(A))) list(A)', (args, meter) => present(listAt(args, 0), meter)),
    overload('list(optional(A))::unwrapOpt() list(A)', (args, meter) => present(listAt(args, 0), meter)),
    overload('lists.range(int) list(int)', (args, meter) => {
      const length = intAt(args, 0);
      if (length < 0n || length > maxRange) throw new CelError(`lists.range() takes a number from 0 to ${maxRange}`);
      return made(
        Array.from({ length: Number(length) }, (_, index) => BigInt(index)),
        meter,
      );
    }),
  ];
}

function made(items: readonly CelValue[], meter: CostMeter): ArrayList {
  meter.add(items.length / 2);
  return new ArrayList(items);
}

function addInt(sum: bigint, item: CelValue): bigint {
  return typeof item === 'bigint' ? int64(sum + item) : sum;
}

function sumUint(items: readonly CelValue[]): CelUint {
  return new CelUint(
    items.reduce<bigint>((sum, item) => (item instanceof CelUint ? uint64(sum + item.value) : sum), 0n),
  );
}

function sumDuration(items: readonly CelValue[]): CelDuration {
  return durationInRange(
    items.reduce<bigint>((sum, item) => (item instanceof CelDuration ? sum + item.nanos : sum), 0n),
  );
}

function isSorted(items: readonly CelValue[], meter: CostMeter): boolean {
  return items.every((item, index) => {
    meter.add(1);
    return index === 0 || !(compareValues(items[index - 1] ?? null, item) > 0);
  });
}

function extreme(list: CelList, which: 'min' | 'max', meter: CostMeter): CelValue {
  if (list.length === 0) throw new CelError(`${which} called on empty list`);
  return itemsOf(list).reduce((best, item) => {
    meter.add(1);
    const order = compareValues(item, best);
    return which === 'min' ? (order < 0 ? item : best) : order > 0 ? item : best;
  });
}

function sorted(list: CelList, meter: CostMeter): ArrayList {
  const items = itemsOf(list);
  meter.add(items.length * Math.ceil(Math.log2(items.length + 1)));
  return new ArrayList(items.toSorted(compareValues));
}

function sortedBy(args: readonly CelValue[], meter: CostMeter): ArrayList {
  const keys = itemsOf(listAt(args, 1));
  const pairs = itemsOf(listAt(args, 0)).map((item, at) => ({ item, key: keys[at] ?? null }));
  meter.add(pairs.length * Math.ceil(Math.log2(pairs.length + 1)));
  return new ArrayList(pairs.sort((a, b) => compareValues(a.key, b.key)).map(({ item }) => item));
}

function indexOf([list, item = null]: readonly CelValue[], meter: CostMeter): bigint {
  if (!(list instanceof CelList)) return -1n;
  for (let index = 0; index < list.length; index += 1) {
    meter.add(1);
    if (equals(list.at(index), item, meter)) return BigInt(index);
  }
  return -1n;
}

function lastIndexOf([list, item = null]: readonly CelValue[], meter: CostMeter): bigint {
  if (!(list instanceof CelList)) return -1n;
  for (let index = list.length - 1; index >= 0; index -= 1) {
    meter.add(1);
    if (equals(list.at(index), item, meter)) return BigInt(index);
  }
  return -1n;
}

function slice(args: readonly CelValue[]): ArrayList {
  const list = listAt(args, 0);
  const [from, to] = [Number(intAt(args, 1)), Number(intAt(args, 2))];
  if (from < 0 || to < 0) throw new CelError(`cannot slice(${from}, ${to}), negative indexes not supported`);
  if (from > to)
    throw new CelError(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`);
  if (to > list.length) throw new CelError(`cannot slice(${from}, ${to}), list is length ${list.length}`);
  return new ArrayList(itemsOf(list).slice(from, to));
}

function distinct(list: CelList, meter: CostMeter): ArrayList {
  const found = new Map<string, CelValue>();
  for (const item of itemsOf(list)) {
    const key = itemIdentity(item, 'value', meter);
    if (!found.has(key)) found.set(key, item);
  }
  return new ArrayList([...found.values()]);
}

/** Returns the values of the optionals that have a value. */
function present(list: CelList, meter: CostMeter): ArrayList {
  const values = itemsOf(list).flatMap((item) =>
    item instanceof CelOptional && item.value !== undefined ? [item.value] : [],
  );
  return made(values, meter);
}

/**
 * Flattens a list by up to `depth` levels. The loop ends earlier when no item is a list, so a very large depth takes no
 * longer.
 */
function flattenTo(list: CelList, depth: bigint, meter: CostMeter): ArrayList {
  if (depth < 0n) throw new CelError('level must be non-negative');
  let flat = new ArrayList(itemsOf(list));
  for (let level = 0n; level < depth && itemsOf(flat).some((item) => item instanceof CelList); level += 1n)
    flat = flatten(flat, meter);
  return flat;
}

function flatten(list: CelList, meter: CostMeter): ArrayList {
  const items = itemsOf(list).flatMap((item) => (item instanceof CelList ? itemsOf(item) : [item]));
  return made(items, meter);
}
