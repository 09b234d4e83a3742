import type { Entry } from '../index/entry.ts';
import type { EntryPlaces } from '../index/entry-places.ts';
import { compareByOrder } from '../index/queries/order-walk.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import { nextTurn } from '../turns/next-turn.ts';
import { sortSteps } from '../turns/sort-steps.ts';
import { allSteps, runInTurns } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';

type Kind = Pick<Resource, 'cache' | 'feed'>;

/** The number of objects that are examined in one step, which takes about a millisecond. */
const selectedPerStep = 1_000;

/**
 * For each kind, the list of all its objects at a revision, kept until the next turn of the event loop. An informer
 * that loses its permission creates {@link FrozenEntries} from this list. All informers that lose their permission in
 * the same turn and at the same revision share one list.
 */
const taken = new WeakMap<Kind, { readonly revision: number; readonly all: EntryPlaces }>();

/**
 * A copy of the selected objects of a kind, oldest first, in their state when the copy was created. At creation, only
 * references to the objects are copied. To select and sort them takes several turns of the event loop.
 */
export class FrozenEntries {
  readonly #kind: Kind;
  /** The revision of the kind when the copy was created. */
  readonly revision: number;
  readonly #selects: (entry: Entry) => boolean;
  readonly #steps: Steps<void>;
  readonly #byKey = new Map<string, Entry>();
  #entries: readonly Entry[] | undefined;
  /** Resolves when all objects are selected and sorted. */
  readonly whole: Promise<void>;

  constructor(kind: Kind, selects: (entry: Entry) => boolean) {
    this.#kind = kind;
    this.revision = kind.feed.revision;
    this.#selects = selects;
    this.#steps = this.#select(allOf(kind));
    this.whole = runInTurns(this.#steps);
  }

  find(key: string): Entry | undefined {
    const { feed } = this.#kind;
    if (this.#entries === undefined && this.revision >= feed.floor) {
      const entry = this.#former(key);
      return entry !== undefined && this.#selects(entry) ? entry : undefined;
    }
    this.entries();
    return this.#byKey.get(key);
  }

  /** Returns the object with this key as it was when this `FrozenEntries` was created. */
  #former(key: string): Entry | undefined {
    const { cache, feed } = this.#kind;
    if (feed.revision === this.revision) return cache.get(key);
    const { changes } = feed.changesOf(key, {
      before: Number.POSITIVE_INFINITY,
      after: this.revision,
      most: Number.POSITIVE_INFINITY,
    });
    const first = changes.at(-1);
    return first === undefined ? cache.get(key) : first.previous;
  }

  /** Returns the selected objects. Completes the copy first, without a pause, if it is not complete. */
  entries(): readonly Entry[] {
    if (this.#entries === undefined) allSteps(this.#steps);
    return this.#entries ?? [];
  }

  *#select(all: EntryPlaces): Steps<void> {
    for (let at = 0; at < all.length; at += 1) {
      const entry = all.entry(at);
      if (this.#selects(entry)) this.#byKey.set(entry.key, entry);
      if (at % selectedPerStep === 0) yield;
    }
    const index = this.#kind.cache.index('metadata.creationTimestamp');
    const compare = compareByOrder(index === undefined ? [] : [{ index, descending: false }]);
    this.#entries = yield* sortSteps([...this.#byKey.values()], compare);
  }
}

function allOf(kind: Kind): EntryPlaces {
  const { revision } = kind.feed;
  const known = taken.get(kind);
  if (known?.revision === revision) return known.all;
  const all = kind.cache.places();
  taken.set(kind, { revision, all });
  void nextTurn().then(() => taken.delete(kind));
  return all;
}
