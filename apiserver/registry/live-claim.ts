import { IndexSpec } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { RequiredClaim } from '../store/store.ts';
import type { Resource } from './resource.ts';

const name = 'live';

/**
 * For kinds whose objects have others depend on them: namespaces, definitions. An object claims its uid until it is declared
 * deleted, and the commit that declares it deleted gives the claim up. A creation that requires the claim is refused from then
 * on, at every replica: what memory shows of the dependents is then all that there will be.
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

/** The claim that the creation of an object requires, if any. Throws ApiError when the object may not be created. */
export type CreationRule = (resource: Resource, object: ApiObject) => RequiredClaim | undefined;

/** One for each state of an object, since stores compare claims of a batch by identity. */
const claims = new WeakMap<Entry, RequiredClaim>();

/** What a creation requires that needs an object of a kind with {@link liveIndex} to stay. */
export function liveClaim(resource: Resource, entry: Entry): RequiredClaim {
  const known = claims.get(entry);
  if (known !== undefined) return known;
  const claim = resource.requiredClaim({ index: name, value: entry.uid ?? '' });
  claims.set(entry, claim);
  return claim;
}
