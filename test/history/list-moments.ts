import type { History, Listing, Violation } from './history.ts';
import { sightingsOf } from './sightings.ts';
import type { Sighting } from './sightings.ts';

/**
 * A list shows all of its objects as they were at one moment, that of its revision; also one that came in chunks, while
 * others wrote.
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
  const latest = sightings.findLast(({ state }) => state.revision <= revision);
  const shown = states.get(key);
  if (shown !== undefined && shown.revision > revision) return `shows ${key} of revision ${shown.revision}`;
  if (latest === undefined) return undefined;
  const { state, isDeletion } = latest;
  if (shown !== undefined) {
    return shown.revision < state.revision ? `shows ${key} of ${shown.revision}, not of ${state.revision}` : undefined;
  }
  // Who has not seen the deletion cannot say that the object was there.
  const isDeletedLater = sightings.some(
    (later) => later.isDeletion && later.state.uid === state.uid && later.state.revision > revision,
  );
  return !isDeletion && isDeletedLater ? `does not show ${key} of ${state.revision}` : undefined;
}
