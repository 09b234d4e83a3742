import type { Steps } from '../turns/steps.ts';
import { inNameOrder } from './build-index.ts';
import type { NamedEntries } from './build-index.ts';
import { EntryTable } from './entry-table.ts';
import type { TableContent } from './entry-table.ts';
import { isMadeOnDemand } from './kind-cache.ts';
import type { CacheContents, KindCache } from './kind-cache.ts';
import type { MadeParts } from './kind-index.ts';

/** The rows of each part of an index, in its order; undefined for a part that has none. */
export type IndexOrders = readonly (Int32Array | undefined)[];

/** Makes the content of a cache from records that are in memory, and from orders of their rows by position of the index. */
export function* restoredContents(
  cache: KindCache,
  content: TableContent & { readonly size: number; readonly orders: readonly IndexOrders[] },
): Steps<CacheContents> {
  const table = yield* EntryTable.of(content);
  let named: NamedEntries | undefined;
  function* nameOrder(): Steps<NamedEntries> {
    named ??= yield* inNameOrder(table);
    return named;
  }
  const indexes: MadeParts[] = [];
  for (const index of cache.indexes) {
    const orders = content.orders[index.position] ?? [];
    indexes.push(yield* index.restore(table, orders, !isMadeOnDemand(index), nameOrder));
  }
  return { table, broken: new Map(), size: content.size, indexes };
}
