import { nextTurn } from '../turns/next-turn.ts';
import type { Entry } from './entry.ts';
import type { KindCache } from './kind-cache.ts';
import type { Query } from './query.ts';
import { matches } from './query.ts';
import { select, visitsOf } from './select.ts';
import type { Page, Selection } from './select.ts';

/** Conditions that are checked in one turn: about 5 ms. */
const checksPerTurn = 100_000;

/** Whether selecting in one turn may hold the event loop for more than 20 ms: a large kind, and many conditions. */
export function isLongSelection(cache: KindCache, query: Query): boolean {
  const conditions = query.conditions.length;
  // Above this the conditions are what takes time, not the walk.
  if (cache.size * conditions <= 4 * checksPerTurn) return false;
  return visitsOf(cache, query) * conditions > 4 * checksPerTurn;
}

/** The same query without its conditions: all objects in its order. */
export function withoutConditions(query: Query): Query {
  return { ...query, conditions: [], isEmpty: false, canonical: `all ${query.canonical}` };
}

/** All objects of the kind in the query's order, at the time of the call. */
export function everythingInOrder(cache: KindCache, query: Query): readonly Entry[] {
  return select(cache, withoutConditions(query)).entries;
}

/** The page of a query, of all objects in its order: as many in a turn as take about 5 ms. */
export async function filterInTurns(all: readonly Entry[], query: Query, page: Page = {}): Promise<Selection> {
  const { offset = 0, count = Number.POSITIVE_INFINITY } = page;
  const perTurn = Math.max(1, Math.floor(checksPerTurn / Math.max(1, query.conditions.length)));
  const found: Entry[] = [];
  for (let from = 0; from < all.length; from += perTurn) {
    await nextTurn();
    for (const entry of all.slice(from, from + perTurn)) if (matches(query, entry)) found.push(entry);
  }
  return { entries: found.slice(offset, offset + count), total: found.length, visited: all.length };
}
