import type { ApiObject, OwnerReference } from '@homeostat/controller-runtime/api';
import type { Resource } from '../registry/kinds/resource.ts';

/** The state of an object's owners. It decides whether the object is deleted. */
export type Owners =
  | {
      readonly kind: 'known';
      /** Owners that exist, and are not being deleted in the foreground. */
      readonly solid: readonly OwnerReference[];
      /** Owners that do not exist: there is no object of that kind and name, or it has another UID. */
      readonly dangling: readonly OwnerReference[];
      /** Owners that are being deleted in the foreground. They may wait for the deletion of this object. */
      readonly waiting: readonly OwnerReference[];
    }
  /** The kind of `owner` is not served, so it is unknown whether the owner exists. */
  | { readonly kind: 'unknown'; readonly owner: OwnerReference }
  /** The stored object with the name of `owner` cannot be read, so it is unknown whether it is the owner. */
  | { readonly kind: 'broken'; readonly owner: OwnerReference }
  /** `owner` is in a namespace and the object is not, so it cannot own the object. The object is not deleted. */
  | { readonly kind: 'misplaced'; readonly owner: OwnerReference };

type OwnerClass = 'solid' | 'dangling' | 'waiting' | 'unknown' | 'broken' | 'misplaced';

/**
 * Returns which owners of an object exist, which are missing, and which are being deleted in the foreground; or an
 * owner for which this cannot be decided. `find` returns the kind of a reference; undefined if the kind is not served.
 */
export function classifyOwners({ metadata }: ApiObject, find: (owner: OwnerReference) => Resource | undefined): Owners {
  const known: Record<'solid' | 'dangling' | 'waiting', OwnerReference[]> = { solid: [], dangling: [], waiting: [] };
  for (const owner of metadata.ownerReferences ?? []) {
    const found = classOf(owner, find(owner), metadata.namespace);
    if (found === 'unknown' || found === 'broken' || found === 'misplaced') return { kind: found, owner };
    known[found].push(owner);
  }
  return { kind: 'known', ...known };
}

function classOf(owner: OwnerReference, resource: Resource | undefined, namespace: string | undefined): OwnerClass {
  if (resource === undefined) return 'unknown';
  const isNamespaced = resource.model.scope === 'Namespaced';
  if (isNamespaced && namespace === undefined) return 'misplaced';
  const key = isNamespaced ? `${namespace}/${owner.name}` : owner.name;
  const entry = resource.cache.get(key);
  if (entry === undefined && resource.cache.broken.has(key)) return 'broken';
  if (entry?.uid !== owner.uid) return 'dangling';
  return entry.deletion === 'Foreground' ? 'waiting' : 'solid';
}
