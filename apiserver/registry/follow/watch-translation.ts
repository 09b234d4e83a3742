import { isBroken } from '../../index/broken-entry.ts';
import type { FeedChange } from '../../index/change-feed.ts';
import type { Entry } from '../../index/entry.ts';

/** The event that one watcher receives for a change. */
export interface Translated {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly entry: Entry;
}

/**
 * Translates a change for a selection: an object that enters it is ADDED, one that leaves it is DELETED (with its new
 * state and revision). Returns undefined for one that is outside before and after.
 */
export function translate(change: FeedChange, selects: (entry: Entry) => boolean): Translated | undefined {
  const { entry, previous } = change;
  const after = change.type !== 'DELETED' && selects(entry);
  // A watch that started before the object broke may have shown it.
  const before = previous !== undefined && (selects(previous) || isBroken(previous));
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', entry };
  return before ? { type: 'DELETED', entry } : undefined;
}
