import { deepEqual, type ApiObject, type OwnerReference } from '../../api/index.ts';
import { kindIdOfObject } from './kind-id.ts';

/** The owner that manages an object: events of the object are events of this owner. */
export function controllerOf(object: Pick<ApiObject, 'metadata'>): OwnerReference | undefined {
  const { ownerReferences } = object.metadata;
  // A loop, because each run asks this for each dependent, and a callback costs more than the comparison.
  if (ownerReferences !== undefined) for (const each of ownerReferences) if (each.controller === true) return each;
  return undefined;
}

/** The reference that makes `owner` an owner, not a controller. */
export function ownerReferenceTo(owner: ApiObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid };
}

/** The reference that makes `owner` the controller; deleting it in the foreground waits for the dependent. */
export function controllerReferenceTo(owner: ApiObject): OwnerReference {
  return { ...ownerReferenceTo(owner), controller: true, blockOwnerDeletion: true };
}

/**
 * The list with a reference in place of the one to the same group, kind and name, or added at the end; the same list
 * when that changes nothing. A reference with an older uid is replaced, because its owner is gone. Absent stands for
 * empty. Throws when the reference is a controller's and another object is the controller.
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

/** The list without the references to an owner, by uid; the same list when it has none. */
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
