import type { BackingSink, KeyedObject } from '@homeostat/controller-runtime';
import type { ApiObject } from '@homeostat/controller-runtime/api';

/** The state of an object, with data that identifies it without parsing the object. */
export interface KnownState<T extends ApiObject> extends KeyedObject<T> {
  readonly uid: string | undefined;
  readonly revision: number;
}

/**
 * Compares the present objects with those that handlers know, and calls the sink for each object that was added,
 * updated or deleted.
 */
export function tellDifferences<T extends ApiObject>(
  known: Iterable<KnownState<T>>,
  present: Iterable<KnownState<T>>,
  sink: BackingSink<T>,
): void {
  const gone = new Map<string, KnownState<T>>();
  for (const state of known) gone.set(state.key, state);
  for (const state of present) {
    const previous = gone.get(state.key);
    gone.delete(state.key);
    if (previous === undefined) sink.added(state);
    else if (previous.uid !== state.uid) {
      sink.deleted(previous);
      sink.added(state);
    } else if (previous.revision !== state.revision) sink.updated(previous, state);
  }
  for (const state of gone.values()) sink.deleted(state);
}
