import type { Candidates, Condition } from './condition.ts';
import { candidatesOf, countMatches } from './condition.ts';
import type { Entry } from '../entry.ts';
import type { EntryPlaces } from '../entry-places.ts';
import type { KindCache } from '../kind-cache.ts';
import { entriesInOrder, firstInOrder, walkOrder } from './order-walk.ts';
import type { Query } from './query.ts';
import { matches } from './query.ts';

export interface PageBounds {
  /** The number of matches to skip. Default 0. */
  readonly offset?: number;
  /** The number of matches to return. By default, all. */
  readonly count?: number;
}

export interface SelectedEntries {
  readonly entries: readonly Entry[];
  /** The number of all matches, on all pages. */
  readonly total: number;
  /** The number of visited entries, which determines the time. */
  readonly visited: number;
}

interface Bounds {
  readonly from: number;
  readonly to: number;
}

export interface Plan {
  /**
   * The smallest set of objects that an index lists for one condition of the query. All matches are in this set.
   * Undefined when no index lists a set for any condition.
   */
  readonly candidates: Candidates | undefined;
  /** The number of matches; undefined when objects must be visited to count them. */
  readonly total: number | undefined;
}

// A set of at most 512 candidates, or of at most 1 % of the objects, is collected and sorted, because this is the
// fastest way.
const smallCollection = 512;
const smallShare = 0.01;

/** A query, and a plan to run it on the present objects of a cache. The plan is valid until the cache changes. */
export interface PlannedQuery {
  readonly cache: KindCache;
  readonly query: Query;
  readonly plan: Plan;
}

export function planQuery(cache: KindCache, query: Query): PlannedQuery {
  return { cache, query, plan: planOf(cache, query.conditions) };
}

/**
 * Runs a query: collects and sorts the smallest set of candidates, or walks through the kind in order, whichever is
 * probably faster.
 */
export function select(cache: KindCache, query: Query, page: PageBounds = {}): SelectedEntries {
  return selectPlanned(planQuery(cache, query), page);
}

export function selectPlanned({ cache, query, plan }: PlannedQuery, page: PageBounds): SelectedEntries {
  const bounds = boundsOf(page);
  if (query.isEmpty || plan.total === 0) return { entries: [], total: 0, visited: 0 };
  // A condition may select all objects, for example when all of them are in the namespace of the request.
  const isEverything = query.conditions.length === 0 || plan.total === cache.size;
  if (isEverything) return pageByRank(cache, query, bounds);
  const { candidates } = plan;
  if (candidates !== undefined && isWorthCollecting(candidates.count, cache.size, { plan, bounds })) {
    return collectAndSort(candidates, query, bounds);
  }
  return walkAndFilter(cache, query, { plan, bounds });
}

/** Estimates how many entries {@link selectPlanned} visits. */
export function visitsOf({ cache, query, plan }: PlannedQuery, page: PageBounds): number {
  if (query.isEmpty || plan.total === 0) return 0;
  if (query.conditions.length === 0) return Math.min(cache.size, page.count ?? Number.POSITIVE_INFINITY);
  const { candidates } = plan;
  const bounds = boundsOf(page);
  const isCollected = candidates !== undefined && isWorthCollecting(candidates.count, cache.size, { plan, bounds });
  return isCollected ? candidates.count : cache.size;
}

function boundsOf({ offset = 0, count = Number.POSITIVE_INFINITY }: PageBounds): Bounds {
  return { from: offset, to: offset + count };
}

/** Returns the entries that the slices of the indexes contain, each entry once, even if several slices contain it. */
export function placesOf({ table }: KindCache, { slices, exact }: Candidates): EntryPlaces {
  const parts = slices.map(({ list, from, to }) => list.rows(from, to));
  const rows = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let filled = 0;
  for (const part of parts) {
    rows.set(part, filled);
    filled += part.length;
  }
  return table.placesOf(exact ? rows : Int32Array.from(new Set(rows)));
}

function forEachOnce({ slices, exact }: Candidates, visit: (entry: Entry) => void): void {
  const seen = new Set<number>();
  for (const { list, from, to } of slices) {
    list.forEach(from, to, (entry, row) => {
      if (!exact && seen.has(row)) return true;
      if (!exact) seen.add(row);
      visit(entry);
      return true;
    });
  }
}

/** Chooses the smallest set of candidates, and counts the matches if this is possible without a visit to objects. */
export function planOf(cache: KindCache, conditions: readonly Condition[]): Plan {
  const [first] = conditions;
  if (first === undefined) return { candidates: undefined, total: cache.size };
  const sets = conditions.map(candidatesOf).filter((set) => set !== undefined);
  const candidates = sets.reduce<Candidates | undefined>(
    (a, b) => (a === undefined || b.count < a.count ? b : a),
    undefined,
  );
  if (candidates?.count === 0) return { candidates, total: 0 };
  return { candidates, total: conditions.length === 1 ? countMatches(first, cache.size) : undefined };
}

interface Choice {
  readonly plan: Plan;
  readonly bounds: Bounds;
}

/**
 * Returns true when it is faster to collect and sort a set of `count` candidates, which takes count·log2(count)
 * comparisons, than to walk through the kind in order. A walk visits the whole kind when the total is unknown or all
 * matches are wanted. Otherwise, it visits a share of the kind that depends on the page. A small set is always
 * collected, because a walk visits every object if the matches happen to be last in the order.
 */
function isWorthCollecting(count: number, size: number, { plan, bounds }: Choice): boolean {
  if (count <= Math.max(smallCollection, size * smallShare)) return true;
  const walked = plan.total === undefined ? size : Math.min(size, (bounds.to / plan.total) * size);
  return count * Math.log2(count) < walked;
}

function pageByRank(cache: KindCache, query: Query, { from, to }: Bounds): SelectedEntries {
  const [key, ...rest] = query.order;
  if (from === 0 && to >= cache.size && key !== undefined && rest.length === 0)
    return { entries: entriesInOrder(cache, key), total: cache.size, visited: cache.size };
  const entries: Entry[] = [];
  let visited = 0;
  const wanted = to - from;
  const accepts = (): boolean => {
    visited++;
    return true;
  };
  const emit = (entry: Entry): boolean => entries.push(entry) < wanted;
  if (wanted > 0 && from < cache.size) walkOrder(query.order, { from, accepts, emit });
  return { entries, total: cache.size, visited };
}

function collectAndSort(candidates: Candidates, query: Query, { from, to }: Bounds): SelectedEntries {
  const { found, visited } = filterCandidates(candidates, query);
  const total = found.length;
  const entries = firstInOrder(found, query.order, to).slice(from);
  return { entries, total, visited };
}

function filterCandidates(candidates: Candidates, query: Query): { found: Entry[]; visited: number } {
  const found: Entry[] = [];
  let visited = 0;
  // With a single condition, for which the index returns exactly the matching entries, no entry needs a check.
  const isCertain = candidates.exact && query.conditions.length === 1;
  forEachOnce(candidates, (entry) => {
    visited += 1;
    if (isCertain || matches(query, entry)) found.push(entry);
  });
  return { found, visited };
}

function walkAndFilter(cache: KindCache, query: Query, { plan, bounds }: Choice): SelectedEntries {
  const { candidates } = plan;
  const entries: Entry[] = [];
  let visited = 0;
  let matched = 0;
  const accepts = (entry: Entry): boolean => {
    visited++;
    return matches(query, entry);
  };
  // When the page is complete but the total is unknown, the matches must still be counted. If there are fewer
  // candidates than entries that the walk has not visited, the walk stops, and the candidates are filtered to count all
  // matches. Otherwise, the walk continues to the end and counts them.
  const mayStop = (): boolean =>
    matched >= bounds.to && (plan.total !== undefined || (candidates?.count ?? cache.size) < cache.size - visited);
  const emit = (entry: Entry): boolean => {
    matched++;
    if (matched > bounds.from && matched <= bounds.to) entries.push(entry);
    return !mayStop();
  };
  const isWalkNeeded = bounds.to > bounds.from || plan.total === undefined;
  const isComplete = !isWalkNeeded || walkOrder(query.order, { from: 0, accepts, emit });
  if (plan.total !== undefined) return { entries, total: plan.total, visited };
  if (isComplete || candidates === undefined) return { entries, total: matched, visited };
  const counted = filterCandidates(candidates, query);
  return { entries, total: counted.found.length, visited: visited + counted.visited };
}
