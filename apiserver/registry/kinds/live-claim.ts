import { IndexSpec } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Entry } from '../../index/entry.ts';
import type { RequiredClaim } from '../../store/store.ts';
import type { Resource } from './resource.ts';

const name = 'live';

/**
 * The index of the claims that namespaces and definitions hold while objects may be created in the namespace, or with
 * the defined kind. A namespace or definition claims its uid until it is marked for deletion; the commit that marks it
 * releases the claim. From then on every replica refuses creations that require the claim. So no new object can escape
 * the controller that deletes the objects of the namespace or definition.
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

/** A rule by which a creation depends on another object: the namespace, or the definition of the kind. */
export interface CreationRule {
  /**
   * Returns true when this rule applies to the creation of objects of a kind. The result must not change while the kind
   * is served.
   */
  covers(resource: Resource): boolean;
  /** Returns the claim that a creation requires. @throws ApiError when the object may not be created */
  claimOf(resource: Resource, object: ApiObject): RequiredClaim;
}

/**
 * The claims that namespaces and definitions hold, by the entries of these objects. All creations that require a claim
 * get the same RequiredClaim, because stores compare the claims of a batch by identity.
 */
const claims = new WeakMap<Entry, RequiredClaim>();

/**
 * Returns the claim of a namespace or definition. Each creation of an object in the namespace, or of the defined kind,
 * requires the claim.
 */
export function liveClaim(resource: Resource, entry: Entry): RequiredClaim {
  const known = claims.get(entry);
  if (known !== undefined) return known;
  const claim = resource.requiredClaim({ index: name, value: entry.uid ?? '' });
  claims.set(entry, claim);
  return claim;
}
