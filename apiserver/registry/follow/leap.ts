import { isBroken } from '../../index/broken-entry.ts';
import type { FeedChange } from '../../index/feed-change.ts';
import { entryWith } from '../../index/create-entry.ts';
import type { Entry } from '../../index/entry.ts';
import type { Steps } from '../../turns/steps.ts';
import { feedChange } from '../kinds/resource.ts';
import type { Resource } from '../kinds/resource.ts';

/** The state of a kind at a later revision, without the changes that led to it. */
export interface LaterState {
  readonly revision: number;
  /** The objects of the kind at this revision, by key. */
  readonly entries: ReadonlyMap<string, Entry>;
}

/** Replaces the in-memory data of a kind with its state at a later revision. The differences are already computed. */
export interface Leap {
  /** False when the kind has changed since the differences were computed, so that {@link take} must not be called. */
  isCurrent(): boolean;
  /**
   * Replaces the in-memory objects of the kind with those at the later revision, in the current turn of the event
   * loop. Open watches get 410, because the changes between the two revisions are unknown. Resolves when the
   * subscribers in this process have received all differences.
   */
  take(): Promise<void>;
}

/** The number of objects that are compared in one step, which takes about a millisecond. */
const comparedPerStep = 1000;

/** Prepares a {@link Leap} to a later state of a kind, in short steps. Meanwhile, the kind serves reads. */
export function* leapSteps(resource: Resource, { entries, revision }: LaterState): Steps<Leap> {
  const { cache, feed, history } = resource;
  const seen = feed.revision;
  const differences = [
    ...(yield* changedSteps(resource, { entries, revision })),
    ...(yield* goneSteps(resource, { entries, revision })),
  ];
  const contents = yield* cache.contentsOf(entries.values());
  return {
    isCurrent: () => feed.revision === seen,
    take: () => {
      cache.take(contents);
      const told = feed.leap(revision, differences);
      history.prune();
      return told;
    },
  };
}

function* changedSteps({ cache }: Resource, { entries, revision }: LaterState): Steps<FeedChange[]> {
  const changes: FeedChange[] = [];
  let compared = 0;
  for (const entry of entries.values()) {
    compared += 1;
    if (compared % comparedPerStep === 0) yield;
    const known = cache.get(entry.key);
    // An object that cannot be read counts as unchanged: watchers keep its last readable state.
    if (isBroken(entry) || known?.revision === entry.revision) continue;
    const isAnother = known !== undefined && known.uid !== entry.uid;
    if (isAnother) changes.push(feedChange('delete', entryWith(known, { revision }), known));
    changes.push(feedChange('update', entry, isAnother ? undefined : known));
  }
  return changes;
}

function* goneSteps({ cache }: Resource, { entries, revision }: LaterState): Steps<FeedChange[]> {
  const changes: FeedChange[] = [];
  let compared = 0;
  for (const entry of cache.entries()) {
    compared += 1;
    if (compared % comparedPerStep === 0) yield;
    if (!entries.has(entry.key)) changes.push(feedChange('delete', entryWith(entry, { revision }), entry));
  }
  return changes;
}
