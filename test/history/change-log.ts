import type { History } from './history.ts';
import { sightingsOf } from './sightings.ts';
import type { Sighting } from './sightings.ts';

/** A change, as a client received it. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** The description of the change. */
  readonly text: string;
  readonly by: string;
}

/**
 * Returns the changes that clients received in responses, lists and events, sorted by revision. A change that was
 * received several times is in the result several times.
 */
export function changesOf(history: History): Change[] {
  return sightingsOf(history)
    .map((sighting) => {
      return { revision: sighting.state.revision, key: sighting.key, text: textOf(sighting), by: sighting.by };
    })
    .sort((a, b) => a.revision - b.revision);
}

/** Returns one change of {@link changesOf} for each revision. */
export function distinctChangesOf(history: History): Change[] {
  return [...new Map(changesOf(history).map((change) => [change.revision, change])).values()];
}

function textOf({ key, state, isDeletion }: Sighting): string {
  const { uid, revision, version, value } = state;
  return `${revision}: ${isDeletion ? 'deletion of ' : ''}${key} ${value} (version ${version}, uid ${uid})`;
}
