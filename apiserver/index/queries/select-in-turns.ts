import { nextTurn } from '../../turns/next-turn.ts';
import { sortSteps } from '../../turns/sort-steps.ts';
import { runSteps } from '../../turns/steps.ts';
import type { Steps } from '../../turns/steps.ts';
import type { Entry } from '../entry.ts';
import type { KindCache } from '../kind-cache.ts';
import type { EntryPlaces } from '../entry-places.ts';
import { placesInOrder, compareByOrder } from './order-walk.ts';
import type { Query, SortKey } from './query.ts';
import { matches } from './query.ts';
import { placesOf, planOf, planQuery, select, selectPlanned, visitsOf } from './select.ts';
import type { PageBounds, PlannedQuery, SelectedEntries } from './select.ts';
import { inBounds } from '../../base/in-bounds.ts';

/**
 * The number of checks of a condition in one step. They take 1 ms, or up to 10 ms when the objects are not in the
 * processor's caches.
 */
const checksPerStep = 16_384;

/**
 * A selection with at most this number of checks runs in one turn of the event loop. This takes 5 ms, or up to 40 ms
 * when the objects are not in the processor's caches.
 */
const checksAtOnce = 4 * checksPerStep;

/** The number of checks that take as long as sorting one entry by several keys. */
const checksPerSort = 16;

/**
 * True when the selection of a page in one turn may block the event loop for too long. This depends on the number of
 * objects, conditions and sort keys.
 */
export function isLongSelection(cache: KindCache, query: Query, page: PageBounds = {}): boolean {
  return !isShortAnyway(cache, query) && isLong(planQuery(cache, query), page);
}

/**
 * Runs a query like {@link select}, on the objects as they are at the time of the call. If it takes long, it runs in
 * several turns of the event loop.
 */
export function selectInTurns(
  cache: KindCache,
  query: Query,
  page: PageBounds,
): SelectedEntries | Promise<SelectedEntries> {
  if (isShortAnyway(cache, query)) return select(cache, query, page);
  const planned = planQuery(cache, query);
  return isLong(planned, page) ? selectLong(cache, query, page) : selectPlanned(planned, page);
}

/**
 * True when a selection is short even if it visits all objects. In this case, no plan is needed to estimate its length.
 */
function isShortAnyway(cache: KindCache, query: Query): boolean {
  return cache.size * checksOf(query) <= checksAtOnce;
}

function isLong(planned: PlannedQuery, page: PageBounds): boolean {
  return visitsOf(planned, page) * checksOf(planned.query) > checksAtOnce;
}

/** The work of a query for each visited entry, including the sort, as a number of checks. */
function checksOf({ conditions, order }: Query): number {
  return Math.max(1, conditions.length) + (order.length > 1 ? checksPerSort : 0);
}

/** Runs a query like {@link selectInTurns}, but always in several turns of the event loop. */
export function selectLong(cache: KindCache, query: Query, page: PageBounds = {}): Promise<SelectedEntries> {
  const { candidates, total } = planOf(cache, query.conditions);
  // If fewer than half of the objects are candidates, sorting the matches takes less time than ordering all objects.
  if (candidates !== undefined && candidates.count * 2 < cache.size)
    return selectAmong(placesOf(cache, candidates), query, page);
  return filterAll(cache, query, { page, total });
}

async function filterAll(cache: KindCache, query: Query, wanted: Wanted): Promise<SelectedEntries> {
  return filterInTurns(await runSteps(firstOrder(cache, query), true), query, wanted);
}

/** Returns all objects, as they are at the time of the call, in the order of a query's first sort key. */
export function firstOrder(cache: KindCache, { order }: Query): Steps<EntryPlaces> {
  return placesInOrder(cache, inBounds(order[0]));
}

/**
 * Returns a query that selects all objects, in the order of the given query's first sort key. Queries with the same
 * first sort key share the result.
 */
export function inFirstOrder({ order }: Query): Query {
  const first = order.slice(0, 1);
  const name = first.map(({ index, descending }) => `${index.spec.name} ${descending ? 'desc' : 'asc'}`).join();
  return { conditions: [], order: first, isEmpty: false, canonical: `all by ${name}` };
}

interface Wanted {
  readonly page: PageBounds;
  /** The number of matches, if it is known. */
  readonly total?: number | undefined;
}

/**
 * Returns a page of a query's matches. `all` has all objects, in the order of the query's first sort key. If the query
 * has no second sort key and `total` is known, the objects after the page are not visited.
 */
export async function filterInTurns(all: EntryPlaces, query: Query, { page, total }: Wanted): Promise<SelectedEntries> {
  const isSorted = query.order.length < 2;
  const end = (page.offset ?? 0) + (page.count ?? Number.POSITIVE_INFINITY);
  const wanted = isSorted && total !== undefined ? end : Number.POSITIVE_INFINITY;
  const { found, visited } = await matchesAmong(all, query, wanted);
  const sorted = isSorted ? found : await runSteps(sortGroups(found, query.order), true);
  return cut(sorted, page, { total: total ?? found.length, visited });
}

async function selectAmong(candidates: EntryPlaces, query: Query, page: PageBounds): Promise<SelectedEntries> {
  const { found, visited } = await matchesAmong(candidates, query, Number.POSITIVE_INFINITY);
  const sorted = await runSteps(sortSteps(found, compareByOrder(query.order)), true);
  return cut(sorted, page, { total: found.length, visited });
}

async function matchesAmong(
  entries: EntryPlaces,
  query: Query,
  wanted: number,
): Promise<{ readonly found: Entry[]; readonly visited: number }> {
  const perStep = Math.max(1, Math.floor(checksPerStep / Math.max(1, query.conditions.length)));
  const found: Entry[] = [];
  let visited = 0;
  while (visited < entries.length && found.length < wanted) {
    await nextTurn();
    for (
      const end = Math.min(entries.length, visited + perStep);
      visited < end && found.length < wanted;
      visited += 1
    ) {
      const entry = entries.entry(visited);
      if (matches(query, entry)) found.push(entry);
    }
  }
  return { found, visited };
}

/** Sorts entries by all sort keys. The given entries are already in the order of the first sort key. */
function* sortGroups(entries: readonly Entry[], [first, ...rest]: readonly SortKey[]): Steps<Entry[]> {
  const sorted: Entry[] = [];
  const compare = compareByOrder(rest);
  const valueOf = (entry: Entry | undefined): string | undefined =>
    entry && first?.index.sortValue(entry, first.descending);
  for (let from = 0; from < entries.length;) {
    const value = valueOf(entries[from]);
    let to = from + 1;
    while (to < entries.length && valueOf(entries[to]) === value) to += 1;
    // Most groups have one member, so they need not be sorted.
    if (to === from + 1) sorted.push(inBounds(entries[from]));
    else for (const entry of yield* sortSteps(entries.slice(from, to), compare)) sorted.push(entry);
    if (Math.floor(from / entriesPerStep) < Math.floor(to / entriesPerStep)) yield;
    from = to;
  }
  return sorted;
}

/** The number of entries that are visited in one step when none has to be sorted. A step takes about a millisecond. */
const entriesPerStep = 8192;

/** Cuts a page out of the list of all matches. */
function cut(
  matched: readonly Entry[],
  { offset = 0, count = Number.POSITIVE_INFINITY }: PageBounds,
  { total, visited }: Pick<SelectedEntries, 'total' | 'visited'>,
): SelectedEntries {
  return { entries: matched.slice(offset, offset + count), total, visited };
}
