import { overload } from '../types/declare-function.ts';
import type { Overload } from '../types/cel-function.ts';
import type { CelList } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import { equals } from '../values/equals.ts';
import { itemsOf, listAt } from './arguments.ts';

/** Returns the functions that treat lists as sets, with CEL's own equality of items. */
export function setOverloads(): readonly Overload[] {
  return [
    overload('sets.contains(list(T), list(T)) bool', (args, meter) =>
      contains(listAt(args, 0), listAt(args, 1), meter),
    ),
    overload('sets.equivalent(list(T), list(T)) bool', (args, meter) => {
      const [first, second] = [listAt(args, 0), listAt(args, 1)];
      return contains(first, second, meter) && contains(second, first, meter);
    }),
    overload('sets.intersects(list(T), list(T)) bool', (args, meter) => {
      const items = itemsOf(listAt(args, 0));
      return itemsOf(listAt(args, 1)).some((item) => items.some((each) => same(each, item, meter)));
    }),
  ];
}

function contains(first: CelList, second: CelList, meter: CostMeter): boolean {
  const items = itemsOf(first);
  return itemsOf(second).every((item) => items.some((each) => same(each, item, meter)));
}

function same(first: Parameters<typeof equals>[0], second: Parameters<typeof equals>[1], meter: CostMeter): boolean {
  meter.add(1);
  return equals(first, second, meter);
}
