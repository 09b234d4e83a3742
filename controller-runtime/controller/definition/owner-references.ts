import { deepEqual, type ApiObject, type OwnerReference } from '../../api/index.ts';
import { kindIdOfObject } from './kind-id.ts';

/** Returns the owner that manages an object: a change of the object causes a run for this owner. */
export function controllerOf(object: Pick<ApiObject, 'metadata'>): OwnerReference | undefined {
  const { ownerReferences } = object.metadata;
  // A loop, because each run calls this for each dependent, and a callback would cost more than the comparison.
  if (ownerReferences !== undefined) for (const each of ownerReferences) if (each.controller === true) return each;
  return undefined;
}

/** Returns the reference that makes `owner` an owner, but not the controller. */
export function ownerReferenceTo(owner: ApiObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid };
}

/**
 * Returns the reference that makes `owner` the controller. When the owner is deleted in the foreground, it stays until
 * the dependent is deleted.
 */
export function controllerReferenceTo(owner: ApiObject): OwnerReference {
  return { ...ownerReferenceTo(owner), controller: true, blockOwnerDeletion: true };
}

/**
 * Returns the list with a reference. It replaces the reference to the same group, kind and name, even if that has
 * another uid, because the owner with that uid no longer exists; otherwise it is added at the end. Returns the same
 * list when that changes nothing. An absent list counts as empty. Throws when the reference is that of a controller,
 * and another object is the controller already.
 */
export function setOwnerReference(
  references: readonly OwnerReference[] | undefined,
  reference: OwnerReference,
): readonly OwnerReference[] {
  const present = references ?? [];
  const controller = present.find((each) => each.controller === true);
  if (reference.controller === true && controller !== undefined && !isSameOwner(controller, reference)) {
    throw new Error(
      `controlled by ${controller.kind} "${controller.name}", cannot be controlled by ${reference.kind} "${reference.name}" too`,
    );
  }
  const index = present.findIndex((each) => isSameOwner(each, reference));
  if (index < 0) return [...present, reference];
  return deepEqual(present[index], reference) ? present : present.with(index, reference);
}

/** Returns the list without the references to an owner, which are found by uid; the same list when it has none. */
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
