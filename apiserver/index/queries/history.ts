import { LruCache } from '@homeostat/controller-runtime/api';
import { sortSteps } from '../../turns/sort-steps.ts';
import { allSteps, runSteps } from '../../turns/steps.ts';
import type { Steps } from '../../turns/steps.ts';
import type { ChangeFeed } from '../change-feed.ts';
import { entryAlone } from '../create-entry.ts';
import type { Entry } from '../entry.ts';
import { EntryPlaces } from '../entry-places.ts';
import type { KindCache } from '../kind-cache.ts';
import { compareByOrder } from './order-walk.ts';
import type { Query } from './query.ts';
import { matches } from './query.ts';
import type { PageBounds, SelectedEntries } from './select.ts';
import { select } from './select.ts';
import { filterInTurns, firstOrder, inFirstOrder, isLongSelection } from './select-in-turns.ts';

export interface HistoryOptions {
  /**
   * The maximum number of snapshots (kept results of queries at earlier revisions). The least recently used one is
   * dropped first. Default 16, so that 16 clients can page through a changing kind.
   */
  readonly maxSnapshots?: number;
  /**
   * The maximum number of entries of all snapshots (kept results of queries) together. A snapshot that alone has more
   * entries is not kept. Default 2,000,000, which take 16 MB.
   */
  readonly maxEntries?: number;
}

interface Snapshot {
  readonly revision: number;
  /** All objects that the query matched at this revision, in the order of the query. */
  readonly entries: EntryPlaces;
}

/**
 * Runs queries at earlier revisions, if the {@link ChangeFeed} (the latest changes of the kind, in memory) has all
 * changes since the revision of the query.
 */
export class History {
  readonly #cache: KindCache;
  readonly #feed: ChangeFeed;
  readonly #snapshots: LruCache<string, Snapshot>;

  /** Creates a history. The feed must have every change of the cache after the revision {@link ChangeFeed.floor}. */
  constructor(cache: KindCache, feed: ChangeFeed, options: HistoryOptions = {}) {
    this.#cache = cache;
    this.#feed = feed;
    this.#snapshots = new LruCache({
      maxEntries: options.maxSnapshots ?? 16,
      maxSize: options.maxEntries ?? 2_000_000,
      sizeOf: ({ entries }) => entries.length + 1,
    });
  }

  /** The number of snapshots (results of queries at earlier revisions) that are in memory. */
  get snapshots(): number {
    return this.#snapshots.size;
  }

  /**
   * Returns the page of a query at a revision. For the revision of the last change, and for later ones, this is the
   * current page. A long selection, and one that undoes more than 1,000 changes, runs in several turns of the event
   * loop. For a revision that is no longer current, the first call visits all matches, and keeps a snapshot of them.
   * While the snapshot is kept, each later call takes time in proportion to the length of its page. Throws, or rejects
   * with, ApiError Expired when the {@link ChangeFeed} no longer has all changes since the revision.
   */
  selectInTurns(query: Query, revision: number, page: PageBounds = {}): SelectedEntries | Promise<SelectedEntries> {
    if (this.#known(query, revision) !== undefined) return this.selectAt(query, revision, page);
    const isPresent = revision >= this.#feed.revision;
    if (isLongSelection(this.#cache, query, isPresent ? page : {})) return this.#selectLong(query, revision, page);
    if (isPresent || this.#feed.countSince(revision) <= undoneAtOnce) return this.selectAt(query, revision, page);
    return this.#undoMany(query, revision, page);
  }

  /** Does the work of {@link selectInTurns} without a pause. */
  selectAt(query: Query, revision: number, page: PageBounds = {}): SelectedEntries {
    const known = this.#known(query, revision);
    if (known !== undefined) return pageOf(known, page, 0);
    if (revision >= this.#feed.revision) return select(this.#cache, query, page);
    const present = select(this.#cache, query);
    const entries = allSteps(undoLater(placesSteps(present.entries), query, this.#statesAt(revision)));
    this.#keep(query, { revision, entries });
    return pageOf(entries, page, present.visited);
  }

  /**
   * Runs a query that selects few objects, at a revision after which many changes were made. Computes the states at
   * this revision from the current ones, in several turns of the event loop.
   */
  async #undoMany(query: Query, revision: number, page: PageBounds): Promise<SelectedEntries> {
    const present = select(this.#cache, query);
    const entries = await runSteps(undoLater(placesSteps(present.entries), query, this.#statesAt(revision)), true);
    this.#keep(query, { revision, entries });
    return pageOf(entries, page, present.visited);
  }

  async #selectLong(query: Query, revision: number, page: PageBounds): Promise<SelectedEntries> {
    const all = await this.#allAt(query, revision);
    const found = await filterInTurns(all, query, { page: {} });
    const entries = await runSteps(placesSteps(found.entries), true);
    this.#keep(query, { revision, entries });
    return pageOf(entries, page, found.visited);
  }

  /** Returns all entries at a revision, in the order of the query's first sort key. */
  async #allAt(query: Query, revision: number): Promise<EntryPlaces> {
    const first = inFirstOrder(query);
    const known = this.#known(first, revision);
    if (known !== undefined) return known;
    const states = this.#statesAt(revision);
    const present = firstOrder(this.#cache, query);
    const entries = await runSteps(undoLater(present, first, states), true);
    this.#keep(first, { revision, entries });
    return entries;
  }

  /**
   * Returns each object that has changed after a revision, in its state at that revision. Ignores changes after this
   * call.
   */
  #statesAt(revision: number): Steps<FormerStates> {
    return formerStates(this.#feed, revision, this.#feed.revision);
  }

  #known(query: Query, revision: number): EntryPlaces | undefined {
    return revision < this.#feed.floor ? undefined : this.#snapshots.get(keyOf(query, revision))?.entries;
  }

  #keep(query: Query, snapshot: Snapshot): void {
    if (snapshot.revision >= this.#feed.floor) this.#snapshots.set(keyOf(query, snapshot.revision), snapshot);
  }

  /**
   * Drops each snapshot (the kept result of a query) whose revision is below {@link ChangeFeed.floor}: the feed no
   * longer has all changes since this revision. Called when the feed has dropped changes.
   */
  prune(): void {
    for (const [key, { revision }] of this.#snapshots.entries()) {
      if (revision < this.#feed.floor) this.#snapshots.delete(key);
    }
  }
}

function pageOf(all: EntryPlaces, page: PageBounds, visited: number): SelectedEntries {
  const { offset = 0, count = Number.POSITIVE_INFINITY } = page;
  const entries = all.slice(offset, offset + count);
  return { entries, total: all.length, visited: visited + entries.length };
}

function keyOf({ canonical }: Query, revision: number): string {
  return `${revision} ${canonical}`;
}

/**
 * For the key of each object that changed in a range of revisions: its state before the first of these changes;
 * undefined when the object did not exist.
 */
type FormerStates = ReadonlyMap<string, Entry | undefined>;

/**
 * Reads the changes after the revision `after`, up to and including the revision `upTo`. Returns, for each changed
 * object, its state before the first of these changes. Throws ApiError Expired when some of these changes are trimmed
 * before they are read.
 */
function* formerStates(feed: ChangeFeed, after: number, upTo: number): Steps<FormerStates> {
  const states = new Map<string, Entry | undefined>();
  let revision = after;
  while (revision < upTo) {
    revision = addStates(states, feed, { after: revision, upTo });
    yield;
  }
  return states;
}

/**
 * Reads at most {@link changesPerStep} changes after the revision `after`. For each changed object that `states` does
 * not have yet, adds the state before the change. Returns the revision of the last change read; `upTo` when none is
 * left.
 */
function addStates(
  states: Map<string, Entry | undefined>,
  feed: ChangeFeed,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): number {
  let count = 0;
  for (const { revision, entry, previous } of feed.since(after)) {
    if (revision > upTo) break;
    if (!states.has(entry.key)) states.set(entry.key, previous);
    count += 1;
    if (count === changesPerStep) return revision;
  }
  return upTo;
}

/** The maximum number of changes that are undone in one turn of the event loop. More are undone in several turns. */
const undoneAtOnce = 1000;

/** The number of changes that are visited in one step, which takes a millisecond. */
const changesPerStep = 512;

/** The number of entries that are visited in one step, which takes a millisecond. */
const passedPerStep = 4096;

function* placesSteps(entries: readonly Entry[]): Steps<EntryPlaces> {
  const places = new EntryPlaces();
  for (const [at, entry] of entries.entries()) {
    places.push(entryAlone(entry));
    if (at % passedPerStep === 0) yield;
  }
  return places;
}

function* undoLater(present: Steps<EntryPlaces>, query: Query, collected: Steps<FormerStates>): Steps<EntryPlaces> {
  const entries = yield* present;
  const states = yield* collected;
  return states.size === 0 ? entries : yield* undo(entries, query, states);
}

/**
 * Returns the former matches of a query, in the query's order: the present matches without the changed objects, and
 * those former states of the changed objects that match the query. `present` is in the query's order.
 */
function* undo(present: EntryPlaces, query: Query, states: FormerStates): Steps<EntryPlaces> {
  const compare = compareByOrder(query.order);
  const restored = yield* sortSteps(yield* matchesSteps(states, query), compare);
  const merged = new EntryPlaces();
  let next = 0;
  let former = restored[next];
  let passed = 0;
  for (const entry of present) {
    passed += 1;
    if (passed % passedPerStep === 0) yield;
    if (states.has(entry.key)) continue;
    while (former !== undefined && compare(former, entry) < 0) {
      merged.push(entryAlone(former));
      former = restored[(next += 1)];
    }
    merged.push(entryAlone(entry));
  }
  for (const entry of restored.slice(next)) {
    passed += 1;
    if (passed % passedPerStep === 0) yield;
    merged.push(entryAlone(entry));
  }
  return merged;
}

/** Returns the former states that match a query. */
function* matchesSteps(states: FormerStates, query: Query): Steps<Entry[]> {
  const found: Entry[] = [];
  let visited = 0;
  for (const entry of states.values()) {
    visited += 1;
    if (visited % changesPerStep === 0) yield;
    if (entry !== undefined && matches(query, entry)) found.push(entry);
  }
  return found;
}
