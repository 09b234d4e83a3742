import { IndexSpec } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Entry } from '../../index/entry.ts';
import type { RequiredClaim } from '../../store/store.ts';
import type { Resource } from './resource.ts';

const name = 'live';

/**
 * The index of the claims of namespaces and definitions, in which other objects are created. Such an object claims
 * its uid until it is marked for deletion; the commit that marks it releases the claim. From then on every replica
 * refuses creations that require the claim, so that no object can appear unnoticed by the controller that deletes the
 * objects.
 */
export const liveIndex: IndexSpec = new IndexSpec({
  name,
  unique: true,
  indexFunc: {
    multiValued: false,
    valuesOf: ({ metadata: { uid, deletionTimestamp } }) =>
      uid === undefined || deletionTimestamp !== undefined ? [] : [uid],
  },
});

/** A rule of creations that depends on another object: the namespace, or the definition of the kind. */
export interface CreationRule {
  /** True for the kinds that have this rule; the result stays the same while a kind is served. */
  covers(resource: Resource): boolean;
  /** Returns the claim that a creation requires. @throws ApiError when the object may not be created */
  claimOf(resource: Resource, object: ApiObject): RequiredClaim;
}

/** One claim for each state of an object: stores recognize equal claims of a batch by identity. */
const claims = new WeakMap<Entry, RequiredClaim>();

/** Returns the claim that creations require of an object whose kind has {@link liveIndex}. */
export function liveClaim(resource: Resource, entry: Entry): RequiredClaim {
  const known = claims.get(entry);
  if (known !== undefined) return known;
  const claim = resource.requiredClaim({ index: name, value: entry.uid ?? '' });
  claims.set(entry, claim);
  return claim;
}
