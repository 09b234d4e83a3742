import type { ApiObject, OwnerReference } from '@homeostat/controller-runtime/api';
import type { Resource } from '../registry/kinds/resource.ts';

/** What an object's owners are, which decides whether it may stay. */
export type Owners =
  | {
      readonly kind: 'known';
      /** There, and not about to go with its dependents. */
      readonly solid: readonly OwnerReference[];
      /** Not there: no object of that name in the namespace, or one with another UID. */
      readonly dangling: readonly OwnerReference[];
      /** Deleted in the foreground: they wait for this object. */
      readonly waiting: readonly OwnerReference[];
    }
  /** The kind of this one is not served, so that nobody knows whether it is there. */
  | { readonly kind: 'unknown'; readonly owner: OwnerReference }
  /** This one is stored and cannot be read: it may be the owner. */
  | { readonly kind: 'broken'; readonly owner: OwnerReference }
  /** This one is in a namespace, and the object in none: it can be no owner, and the object is left alone. */
  | { readonly kind: 'misplaced'; readonly owner: OwnerReference };

type OwnerClass = 'solid' | 'dangling' | 'waiting' | 'unknown' | 'broken' | 'misplaced';

/** `find` answers the kind of a reference, when it is served. */
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
