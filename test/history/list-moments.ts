import type { History, Listing, Violation } from './history.ts';
import { sightingsOf } from './sightings.ts';
import type { Sighting } from './sightings.ts';

/**
 * Checks that each list shows all its objects at the revision of the list, even if the client read the list in chunks
 * during other writes.
 */
export function checkListMoments(history: History): Violation[] {
  const byKey = new Map<string, Sighting[]>(history.keys.map((key) => [key, []]));
  for (const sighting of sightingsOf(history)) byKey.get(sighting.key)?.push(sighting);
  for (const sightings of byKey.values()) sightings.sort((a, b) => a.state.revision - b.state.revision);
  return history.listings.flatMap((listing) =>
    listing.keys.flatMap((key) => {
      const fault = findFault(listing, key, byKey.get(key) ?? []);
      if (fault === undefined) return [];
      const message = `the list by ${listing.client} of revision ${listing.revision}, ${listing.call}-${listing.return}, ${fault}`;
      return [{ guarantee: 'lists are of one moment' as const, message }];
    }),
  );
}

function findFault({ revision, states }: Listing, key: string, sightings: readonly Sighting[]): string | undefined {
  const shown = states.get(key);
  if (shown !== undefined && shown.revision > revision) return `shows ${key} of revision ${shown.revision}`;
  const latest = lastUpTo(sightings, revision);
  if (latest === undefined) return undefined;
  const { state, isDeletion } = latest;
  if (shown !== undefined) {
    return shown.revision < state.revision ? `shows ${key} of ${shown.revision}, not of ${state.revision}` : undefined;
  }
  if (isDeletion) return undefined;
  // The object is known to have existed at the revision of the list only if a client saw its later deletion.
  const isDeletedLater = sightings.some((later) => later.isDeletion && later.state.uid === state.uid);
  return isDeletedLater ? `does not show ${key} of ${state.revision}` : undefined;
}

/** Returns the last of the sorted sightings whose revision is not above the given one. */
function lastUpTo(sightings: readonly Sighting[], revision: number): Sighting | undefined {
  let [low, high] = [0, sightings.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sightings[middle]!.state.revision <= revision) low = middle + 1;
    else high = middle;
  }
  return sightings[low - 1];
}
