import type { Entry } from '../index/entry.ts';
import { staysWithOwner } from '../builtin/stays-with-owner.ts';
import type { Resource } from '../registry/kinds/resource.ts';

/** An object, identified by its resource and its key. */
export interface Node {
  readonly resource: Resource;
  readonly key: string;
}

interface Dependent extends Node {
  readonly uid: string | undefined;
  readonly blocks: boolean;
}

/** An object that is being deleted, and remains until its dependents are deleted (Foreground) or released (Orphan). */
interface Leaving extends Node {
  readonly policy: 'Foreground' | 'Orphan';
}

/** Returns an id that is unique among the objects of all kinds. */
export function idOf({ resource, key }: Node): string {
  return resource.keyPrefix + key;
}

/**
 * The objects of the served kinds, by the UIDs of their owners. The graph has no copies of the objects, only their
 * resources, keys and UIDs.
 */
export class OwnerGraph {
  readonly #dependents = new Map<string, Map<string, Dependent>>();
  readonly #leaving = new Map<string, Leaving>();

  add(resource: Resource, entry: Entry): void {
    const { key, uid, owners = [], deletion } = entry;
    if (uid !== undefined && deletion !== undefined && deletion !== 'Background')
      this.#leaving.set(uid, { resource, key, policy: deletion });
    for (const owner of owners) {
      const dependents = this.#dependents.get(owner.uid) ?? new Map<string, Dependent>();
      this.#dependents.set(owner.uid, dependents);
      const id = idOf({ resource, key });
      const known = dependents.get(id);
      // An object may refer to one owner twice. It blocks the deletion of the owner if one of these references does.
      const blocks = owner.blocks || (known?.resource === resource && known.blocks);
      dependents.set(id, { resource, key, uid, blocks });
    }
  }

  /** True when no object has an owner, and no object waits for its dependents. */
  get isEmpty(): boolean {
    return this.#dependents.size + this.#leaving.size === 0;
  }

  /**
   * Removes an object from the graph, but only if it was last added with the same `resource`. A kind that is
   * registered again gets a new Resource: a removal with the former Resource must not remove what was added with the
   * new one.
   */
  remove(resource: Resource, { key, uid, owners = [], deletion }: Entry): void {
    if (uid !== undefined && deletion !== undefined && this.#leaving.get(uid)?.resource === resource)
      this.#leaving.delete(uid);
    for (const owner of owners) {
      const dependents = this.#dependents.get(owner.uid);
      const id = idOf({ resource, key });
      if (dependents?.get(id)?.resource === resource) dependents.delete(id);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }

  dependentsOf(uid: string | undefined): Iterable<Node> {
    return this.#dependents.get(uid ?? '')?.values() ?? [];
  }

  hasDependents(uid: string | undefined): boolean {
    return this.#dependents.has(uid ?? '');
  }

  /** Returns all objects whose removal waits until their dependents are deleted or orphaned. */
  leaving(): Iterable<Node> {
    return this.#leaving.values();
  }

  /** Yields an object's owners, but only those that remain until their dependents are deleted or orphaned. */
  *leavingOwners({ owners = [] }: Entry): Generator<Leaving> {
    for (const { uid } of owners) {
      const owner = this.#leaving.get(uid);
      if (owner !== undefined) yield owner;
    }
  }

  /**
   * True when the object with this UID still has dependents that must be deleted, or lose their reference to the
   * object, before the object is removed. Dependents for which {@link staysWithOwner} is true do not count: they are
   * removed after their owner.
   */
  #hasReleasable(uid: string): boolean {
    for (const { resource } of this.dependentsOf(uid)) if (!staysWithOwner(resource.model)) return true;
    return false;
  }

  /** True when the object with this UID is being deleted without its dependents. */
  isOrphaning(uid: string): boolean {
    return this.#leaving.get(uid)?.policy === 'Orphan';
  }

  /** Returns true while the deletion of the object with this UID has to wait for its dependents. */
  holds(uid: string): boolean {
    const owner = this.#leaving.get(uid);
    if (owner?.policy === 'Orphan') return this.#hasReleasable(uid);
    // Objects that wait for each other would wait for ever, so the first one that is checked is released first.
    for (const blocker of this.#blockersOf(uid)) if (!this.#waitsFor(blocker, uid)) return true;
    return false;
  }

  /**
   * Yields the UIDs of the dependents that must be deleted before this object. Yields none if the object is not deleted
   * in the foreground.
   */
  *#blockersOf(uid: string): Generator<string> {
    const owner = this.#leaving.get(uid);
    if (owner?.policy !== 'Foreground') return;
    for (const each of this.#dependents.get(uid)?.values() ?? [])
      if (each.blocks && mayOwn(owner, each)) yield each.uid ?? '';
  }

  /**
   * True when the object `uid` cannot be removed before the object `other`: `other` is a dependent that blocks its
   * deletion in the foreground, directly or through other dependents.
   */
  #waitsFor(uid: string, other: string): boolean {
    const seen = new Set([uid]);
    for (const each of seen) {
      if (each === other) return true;
      for (const blocker of this.#blockersOf(each)) seen.add(blocker);
    }
    return false;
  }
}

/**
 * False when the owner is in a namespace and the dependent is not. Then the dependent's reference has no effect: the
 * dependent is never deleted because of this owner, and does not block the owner's deletion in the foreground.
 */
function mayOwn(owner: Node, dependent: Node): boolean {
  return owner.resource.model.scope !== 'Namespaced' || dependent.resource.model.scope === 'Namespaced';
}
