import { ArrayList } from '../values/cel-value.ts';
import type { CelList, CelValue, ListIdentity } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import { itemIdentity } from '../values/equals.ts';
import { itemsOf } from './arguments.ts';

/** A list that keeps the identity of the list that it was made of. */
class JoinedList extends ArrayList {
  override readonly identity: ListIdentity;

  constructor(items: readonly CelValue[], identity: ListIdentity) {
    super(items);
    this.identity = identity;
  }
}

/**
 * `first + second`. A set takes only items that it does not have; a `map` list replaces items with the same keys, in their
 * places.
 */
export function joinLists(first: CelList, second: CelList, meter: CostMeter): CelList {
  const { identity } = first;
  meter.add((first.length + second.length) / 10);
  if (identity === 'position') return new ArrayList([...itemsOf(first), ...itemsOf(second)]);
  const joined = new Map<string, CelValue>();
  for (const item of itemsOf(first)) joined.set(itemIdentity(item, identity, meter), item);
  for (const item of itemsOf(second)) {
    const key = itemIdentity(item, identity, meter);
    if (identity !== 'value' || !joined.has(key)) joined.set(key, item);
  }
  return new JoinedList([...joined.values()], identity);
}
