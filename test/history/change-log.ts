import type { History } from './history.ts';
import { sightingsOf } from './sightings.ts';
import type { Sighting } from './sightings.ts';

/** A change, as a client saw it. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** The change in words. */
  readonly text: string;
  readonly by: string;
}

/** The changes that clients saw in a response, a list or an event: by revision, as often as they were seen. */
export function changesOf(history: History): Change[] {
  return sightingsOf(history)
    .map((sighting) => {
      return { revision: sighting.state.revision, key: sighting.key, text: textOf(sighting), by: sighting.by };
    })
    .sort((a, b) => a.revision - b.revision);
}

/** The changes of {@link changesOf} without duplicates. */
export function distinctChangesOf(history: History): Change[] {
  return [...new Map(changesOf(history).map((change) => [change.revision, change])).values()];
}

function textOf({ key, state, isDeletion }: Sighting): string {
  const { uid, revision, version, value } = state;
  return `${revision}: ${isDeletion ? 'deletion of ' : ''}${key} ${value} (version ${version}, uid ${uid})`;
}
