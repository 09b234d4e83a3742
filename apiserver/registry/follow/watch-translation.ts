import { isBroken } from '../../index/broken-entry.ts';
import type { FeedChange } from '../../index/feed-change.ts';
import type { Entry } from '../../index/entry.ts';

/** The event that one watcher receives for a change. */
export interface Translated {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly entry: Entry;
}

/**
 * Translates a change into the event of a watch with a selector. An object is ADDED when it begins to match, and
 * DELETED (with its new state and revision) when it no longer matches. Returns undefined when the object matches
 * neither before nor after the change.
 */
export function translate(change: FeedChange, selects: (entry: Entry) => boolean): Translated | undefined {
  const { entry, previous } = change;
  const after = change.type !== 'DELETED' && selects(entry);
  // A previous state that cannot be read counts as selected, because a watch may have reported an earlier, readable
  // state.
  const before = previous !== undefined && (selects(previous) || isBroken(previous));
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', entry };
  return before ? { type: 'DELETED', entry } : undefined;
}
