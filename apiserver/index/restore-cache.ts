import type { Steps } from '../turns/steps.ts';
import { alreadyInNameOrder, inNameOrder } from './build-index.ts';
import type { NamedEntries } from './build-index.ts';
import { EntryTable } from './entry-table.ts';
import type { TableContent } from './entry-table.ts';
import { isMadeOnDemand } from './kind-cache.ts';
import type { CacheContents, KindCache } from './kind-cache.ts';
import type { MadeParts } from './kind-index.ts';

/**
 * The sorted row numbers of one index, as a snapshot has them: one array for each of the sorted lists of which the
 * index consists, or undefined for a list that the snapshot does not have.
 */
export type IndexOrders = readonly (Int32Array | undefined)[];

/** Creates the content of a kind's cache from records in memory, and from the orders of their rows in each index. */
export function* restoredContents(
  cache: KindCache,
  content: TableContent & { readonly size: number; readonly orders: readonly IndexOrders[] },
): Steps<CacheContents> {
  const table = yield* EntryTable.of(content);
  const names = content.orders[cache.index('metadata.name')?.position ?? -1]?.[0];
  let named: NamedEntries | undefined;
  function* nameOrder(): Steps<NamedEntries> {
    named ??= yield* names === undefined ? inNameOrder(table) : alreadyInNameOrder(table, names);
    return named;
  }
  const indexes: MadeParts[] = [];
  for (const index of cache.indexes) {
    const orders = content.orders[index.position] ?? [];
    indexes.push(yield* index.restore(table, orders, !isMadeOnDemand(index), nameOrder));
  }
  return { table, broken: new Map(), size: content.size, indexes };
}
