import { deepEqual, type ApiObject, type OwnerReference } from '../../api/index.ts';
import { kindIdOfObject } from './kind-id.ts';

/**
 * Returns the reference to the controller owner of an object; undefined when there is none. A change of the object
 * causes a run for this owner, if a controller of the owner's kind follows the object's kind with `owns`.
 */
export function controllerOf(object: Pick<ApiObject, 'metadata'>): OwnerReference | undefined {
  const { ownerReferences } = object.metadata;
  // This is a loop, because each run calls this function for each dependent, and a callback would cost more than the
  // comparison.
  if (ownerReferences !== undefined) for (const each of ownerReferences) if (each.controller === true) return each;
  return undefined;
}

/** Returns the reference that makes `owner` an owner, but not the controller. */
export function ownerReferenceTo(owner: ApiObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid };
}

/**
 * Returns the reference that makes `owner` the controller owner of a dependent. With this reference, an owner that is
 * deleted in the foreground is removed only after the dependent.
 */
export function controllerReferenceTo(owner: ApiObject): OwnerReference {
  return { ...ownerReferenceTo(owner), controller: true, blockOwnerDeletion: true };
}

/**
 * Returns the list with a reference in it. The reference replaces the one with the same group, kind and name, even if
 * the uids differ, because then the owner with the old uid no longer exists. If there is no such reference, the new one
 * is added at the end. Returns the same list when nothing changes. An absent list counts as empty. Throws when the
 * reference makes its owner the controller, but another object is the controller already.
 */
export function setOwnerReference(
  references: readonly OwnerReference[] | undefined,
  reference: OwnerReference,
): readonly OwnerReference[] {
  const present = references ?? [];
  const controller = present.find((each) => each.controller === true);
  if (reference.controller === true && controller !== undefined && !isSameOwner(controller, reference)) {
    throw new Error(
      `the object already has the controller ${controller.kind} "${controller.name}", so ${reference.kind} "${reference.name}" cannot control it`,
    );
  }
  const index = present.findIndex((each) => isSameOwner(each, reference));
  if (index < 0) return [...present, reference];
  return deepEqual(present[index], reference) ? present : present.with(index, reference);
}

/**
 * Returns the list without the references that have the uid of `owner`. Returns the same list when it has no such
 * reference.
 */
export function removeOwnerReference(
  references: readonly OwnerReference[] | undefined,
  owner: Pick<ApiObject, 'metadata'>,
): readonly OwnerReference[] {
  const present = references ?? [];
  const rest = present.filter((each) => each.uid !== owner.metadata.uid);
  return rest.length === present.length ? present : rest;
}

function isSameOwner(a: OwnerReference, b: OwnerReference): boolean {
  return a.name === b.name && kindIdOfObject(a) === kindIdOfObject(b);
}
