import { deepEqual, isConflict, isNotFound, keyOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, Logger, OwnerReference } from '@homeostat/controller-runtime/api';
import { staysWithOwner } from '../builtin/stays-with-owner.ts';
import { namespaceKind } from '../builtin/namespace-kind.ts';
import type { FeedChange } from '../index/feed-change.ts';
import type { Entry } from '../index/entry.ts';
import { propagationFinalizers } from '../index/propagation.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import type { Registry } from '../registry/registry.ts';
import type { WriteOptions } from '../registry/writes/write-options.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Revisions } from '../registry/history/revisions.ts';
import { allSteps, runInTurns } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import { classifyOwners } from './classify-owners.ts';
import { idOf, OwnerGraph } from './owner-graph.ts';
import type { Node } from './owner-graph.ts';
import type { UnservedDependents } from './unserved-dependents.ts';
import { WorkLoop } from './work-loop.ts';

export interface GarbageCollectorParts {
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly revisions: Revisions;
  readonly unserved: UnservedDependents;
  /** Returns the object of an entry if it is already parsed; undefined otherwise. */
  readonly parsed: (entry: Entry) => ApiObject | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * An object for which the decision whether to delete it must wait until the kind named `kind` is served. If `kind` is
 * undefined, the decision waits until any further kind is served.
 */
interface Undecided {
  readonly node: Node;
  readonly kind: string | undefined;
}

/**
 * The number of objects that are handled at the same time. It is large enough that their writes share commits, and
 * small enough that other writers are not held up.
 */
const handledAtOnce = 100;

/** A newly served kind with at most this number of objects is read in one step, which takes some milliseconds. */
const learnedAtOnce = 5000;

/** The number of objects that are read in one step, for a kind with more than {@link learnedAtOnce} objects. */
const learnedPerStep = 1000;

const asService = { writer: 'service', fieldManager: 'homeostat', fieldValidation: 'Ignore' } as const;

/**
 * Kubernetes' garbage collection: deletes objects whose owners are all deleted. An object that is deleted in the
 * foreground has the finalizer `foregroundDeletion`, removed once the dependents that block its deletion are deleted.
 * An object that is deleted without its dependents has the finalizer `orphan`, removed once the dependents no longer
 * refer to it. An owner whose kind is not served does not count as deleted. All state is in the objects, so the work
 * continues after a restart, and several replicas may do it at the same time.
 */
export class GarbageCollector {
  readonly #parts: GarbageCollectorParts;
  readonly #graph = new OwnerGraph();
  readonly #queue: WorkLoop<Node>;
  /** The served kinds. The keys come from {@link kindName}. */
  readonly #followed = new Map<string, { readonly resource: Resource; readonly unsubscribe: () => void }>();
  readonly #undecided = new Map<string, Undecided>();
  /**
   * One promise for each large kind whose objects are being added to the graph or removed from it. While one of these
   * promises is pending, the collector handles no object.
   */
  readonly #learning = new Set<Promise<void>>();
  readonly #untilLearned = new Map<string, Node>();
  /**
   * Objects whose owner may be a stored object that cannot be read. They are judged again after each creation or
   * deletion of an object, since it may be the replacement or deletion of the unreadable object.
   */
  readonly #behindBroken = new Map<string, Node>();
  /**
   * A cache of the last owner to which a reference pointed from a wrong namespace, with the owner's own namespace. Such
   * references to the same owner often follow each other.
   */
  #elsewhere: { readonly uid: string; readonly namespace: string | undefined } | undefined;

  constructor(parts: GarbageCollectorParts) {
    this.#parts = parts;
    this.#queue = new WorkLoop(
      {
        clock: parts.clock,
        idOf,
        handle: async (node) => this.#handle(node),
        onFailure: (node, err) =>
          parts.logger.error({ err, object: idOf(node) }, 'garbage collection failed; trying again later'),
      },
      { atOnce: handledAtOnce },
    );
    parts.table.on('opened', (resource) => this.#follow(resource));
    parts.table.on('closed', (resource) => this.#unfollow(resource));
  }

  isIdle(): boolean {
    return this.#learning.size === 0 && this.#queue.isIdle();
  }

  /** False while a large kind is being added to the graph or removed from it. */
  get knowsAll(): boolean {
    return this.#learning.size === 0;
  }

  /** The resources and keys of the objects with an owner reference to this UID. */
  dependentsOf(uid: string): Iterable<Node> {
    return this.#graph.dependentsOf(uid);
  }

  async stop(): Promise<void> {
    for (const { unsubscribe } of this.#followed.values()) unsubscribe();
    await this.#queue.stop();
    await Promise.all(this.#learning);
  }

  #follow(resource: Resource): void {
    const opened = kindName(resource.model.group, resource.model.kind);
    const unsubscribe = resource.feed.subscribe(this.#onChange.bind(this, resource));
    this.#followed.set(opened, { resource, unsubscribe });
    if (resource.cache.size <= learnedAtOnce) {
      allSteps(this.#learn(resource));
      this.#onLearned(opened);
      return;
    }
    this.#beginLearning(this.#learnInTurns(resource, opened));
  }

  async #learnInTurns(resource: Resource, opened: string): Promise<void> {
    await runInTurns(this.#learn(resource));
    this.#onLearned(opened);
  }

  /** Adds the objects of a newly served kind to the graph. {@link #onChange} adds objects that change meanwhile. */
  *#learn(resource: Resource): Steps<void> {
    let learned = 0;
    for (const entry of resource.cache.entries()) {
      if (this.#queue.isStopped || resource.isClosed) return;
      this.#graph.add(resource, entry);
      if (entry.owners !== undefined) this.#queue.add({ resource, key: entry.key });
      learned += 1;
      if (learned % learnedPerStep === 0) yield;
    }
  }

  #beginLearning(work: Promise<void>): void {
    const learning = work.finally(() => this.#endLearning(learning));
    this.#learning.add(learning);
  }

  #endLearning(learning: Promise<void>): void {
    this.#learning.delete(learning);
    if (this.#learning.size > 0) return;
    for (const node of this.#untilLearned.values()) this.#queue.add(node);
    this.#untilLearned.clear();
  }

  #onLearned(opened: string): void {
    // Pending deletions are checked again: an object that blocked a deletion may be gone, and the newly served kind may
    // have dependents that were unknown before.
    for (const node of this.#graph.leaving()) this.#queue.add(node);
    for (const [id, { node, kind }] of this.#undecided) {
      if (kind !== undefined && kind !== opened) continue;
      this.#undecided.delete(id);
      this.#queue.add(node);
    }
  }

  #unfollow(resource: Resource): void {
    const kind = kindName(resource.model.group, resource.model.kind);
    this.#followed.get(kind)?.unsubscribe();
    this.#followed.delete(kind);
    if (this.#graph.isEmpty && this.#undecided.size === 0) return;
    // The entries are copied, because commits in progress still change the kind, although this controller no longer
    // receives its changes.
    const release = this.#release(resource, resource.cache.places());
    if (resource.cache.size <= learnedAtOnce) allSteps(release);
    else this.#beginLearning(runInTurns(release));
  }

  /**
   * Removes from the graph the objects of a kind that is no longer served. The kind may be served again before all are
   * removed.
   */
  *#release(resource: Resource, entries: Iterable<Entry>): Steps<void> {
    const kind = kindName(resource.model.group, resource.model.kind);
    let at = 0;
    for (const entry of entries) {
      if (this.#queue.isStopped) return;
      this.#graph.remove(resource, entry);
      const id = idOf({ resource, key: entry.key });
      if (this.#undecided.get(id)?.node.resource === resource) this.#undecided.delete(id);
      if (++at % learnedPerStep === 0) yield;
    }
    // While the kind is not served, no event reports the deletion of its objects. So their dependents wait until the
    // kind is served again.
    for (const { uid } of entries) {
      for (const node of this.#graph.dependentsOf(uid)) {
        if (this.#followed.has(kind)) this.#queue.add(node);
        else this.#undecided.set(idOf(node), { node, kind });
      }
      if (++at % learnedPerStep === 0) yield;
    }
  }

  #onChange(resource: Resource, { type, entry, previous }: FeedChange): void {
    if (this.#behindBroken.size > 0 && type !== 'MODIFIED') this.#retryBehindBroken();
    // Most new objects have no owner and are not being deleted. The collector has no work with them.
    if (type === 'ADDED' && entry.owners === undefined && entry.deletion === undefined) return;
    const node = { resource, key: entry.key };
    if (previous !== undefined) this.#graph.remove(resource, previous);
    // The graph has only objects with an owner, and objects that are being deleted.
    if (type !== 'DELETED' && (entry.owners !== undefined || entry.deletion !== undefined))
      this.#graph.add(resource, entry);
    if (previous?.owners !== undefined) for (const owner of this.#graph.leavingOwners(previous)) this.#queue.add(owner);
    if (type === 'DELETED') {
      if (entry.owners !== undefined || staysFor(entry)) this.#undecided.delete(idOf(node));
      return this.#enqueueDependents(entry);
    }
    if (entry.owners !== undefined || staysFor(entry)) this.#queue.add(node);
    if (staysFor(entry) && entry.deletion !== previous?.deletion) this.#enqueueDependents(entry);
  }

  #retryBehindBroken(): void {
    for (const node of this.#behindBroken.values()) this.#queue.add(node);
    this.#behindBroken.clear();
  }

  #enqueueDependents({ uid }: Entry): void {
    for (const { resource, key } of this.#graph.dependentsOf(uid)) this.#queue.add({ resource, key });
  }

  async #handle(node: Node): Promise<void> {
    if (this.#learning.size > 0) {
      this.#untilLearned.set(idOf(node), node);
      return;
    }
    const entry = node.resource.isClosed ? undefined : node.resource.cache.get(node.key);
    if (entry === undefined) return;
    try {
      await this.#decide(node, entry);
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error)) throw error;
      // Another replica may have changed the object. It is checked again once this replica has the change in memory.
      await this.#parts.revisions.reach(undefined);
      this.#queue.add(node);
    }
  }

  #decide(node: Node, entry: Entry): Promise<void> | void {
    const { uid, owners, deletion } = entry;
    const isReleased = !staysWithOwner(node.resource.model);
    if (isReleased && owners?.some((owner) => this.#graph.isOrphaning(owner.uid)) === true)
      return this.#strip(node, decodeObject(entry.bytes), (owner) => !this.#graph.isOrphaning(owner.uid));
    if (uid !== undefined && staysFor(entry)) return this.#letGo(node, uid);
    // An informer has already parsed most objects with owners: `parsed` returns them, so they are not parsed twice.
    if (deletion === undefined && owners !== undefined)
      return this.#judge(node, this.#parts.parsed(entry) ?? decodeObject(entry.bytes));
  }

  #judge(node: Node, object: ApiObject): Promise<void> | void {
    const owners = classifyOwners(object, (owner) => this.#kindOf(owner));
    const about = { object: idOf(node) };
    if (owners.kind === 'unknown') {
      this.#undecided.set(idOf(node), { node, kind: kindName(groupOf(owners.owner), owners.owner.kind) });
      return;
    }
    if (owners.kind === 'broken') {
      this.#behindBroken.set(idOf(node), node);
      return;
    }
    if (owners.kind === 'misplaced') {
      const message = 'an object without a namespace is never collected: its owner is in a namespace';
      this.#parts.logger.warn({ ...about, owner: owners.owner }, message);
      return;
    }
    const { solid, dangling, waiting } = owners;
    if (dangling.length + waiting.length === 0) return;
    if (waiting.length > 0 && staysWithOwner(node.resource.model)) return;
    if (solid.length > 0) return this.#strip(node, object, (owner) => solid.includes(owner));
    for (const owner of dangling) this.#warnOfOtherNamespace(node, owner);
    return this.#delete(node, object, waiting.length > 0);
  }

  /**
   * Deletes an object whose owners are deleted, or are being deleted in the foreground. `isAwaited` is true if at least
   * one owner is being deleted in the foreground. Then an object that has dependents is deleted in the foreground, too:
   * it stays until the dependents that block its deletion are deleted.
   */
  async #delete(node: Node, object: ApiObject, isAwaited: boolean): Promise<void> {
    const { registry, logger } = this.#parts;
    const { uid, resourceVersion } = object.metadata;
    const options: WriteOptions = {
      ...asService,
      ...(isAwaited && this.#graph.hasDependents(uid) ? { propagationPolicy: 'Foreground' } : {}),
    };
    const remove = async (preconditions: WriteOptions['preconditions']): Promise<unknown> =>
      registry.delete(node.resource, keyOf(object), { ...options, ...(preconditions && { preconditions }) });
    try {
      await remove({ uid, resourceVersion });
    } catch (error) {
      if (!isConflict(error) || !this.#hasOwnersOf(node, object)) throw error;
      // The object has changed, but its owners have not. It is now deleted without a precondition on its state, because
      // it may change again and again.
      await remove({ uid });
    }
    logger.debug({ object: idOf(node) }, 'an object was deleted, because its owners are gone');
  }

  #hasOwnersOf({ resource, key }: Node, { metadata }: ApiObject): boolean {
    const entry = resource.cache.get(key);
    return (
      entry !== undefined && deepEqual(decodeObject(entry.bytes).metadata.ownerReferences, metadata.ownerReferences)
    );
  }

  async #strip(node: Node, object: ApiObject, isKept: (owner: OwnerReference) => boolean): Promise<void> {
    const { ownerReferences = [] } = object.metadata;
    await this.#change(node, object, { ownerReferences: ownerReferences.filter(isKept) });
  }

  /**
   * Removes the finalizer `foregroundDeletion` or `orphan` of an object that is being deleted, unless the object still
   * has to wait for its dependents.
   */
  async #letGo(node: Node, uid: string): Promise<void> {
    if (this.#graph.holds(uid)) return;
    // Other replicas may have created dependents, so memory first catches up with the database.
    await this.#parts.revisions.reach(undefined);
    const entry = node.resource.cache.get(node.key);
    if (this.#queue.isStopped || entry?.uid !== uid || !staysFor(entry) || this.#graph.holds(uid)) return;
    const { deletion } = entry;
    const isDependent = (owner: OwnerReference): boolean =>
      owner.uid === uid && (deletion === 'Orphan' || owner.blockOwnerDeletion === true);
    const isAwaited = await this.#parts.unserved.some(isDependent);
    // If the server began to serve a kind during the search, the search skipped the objects of this kind, and the graph
    // may not have them yet. So the search is repeated later.
    if (this.#learning.size > 0) return this.#queue.add(node);
    if (isAwaited) {
      this.#undecided.set(idOf(node), { node, kind: undefined });
      const message = 'a deletion waits for dependents of a kind that is not served';
      this.#parts.logger.info({ object: idOf(node) }, message);
      return;
    }
    const object = decodeObject(entry.bytes);
    const finalizers = object.metadata.finalizers?.filter((each) => each !== propagationFinalizers[deletion]);
    await this.#change(node, object, { finalizers });
  }

  async #change(node: Node, object: ApiObject, change: object): Promise<void> {
    const { resourceVersion } = object.metadata;
    const patch = { metadata: { resourceVersion, ...change } };
    await this.#parts.registry.patch(node.resource, keyOf(object), { type: 'merge', patch }, asService);
  }

  /** Returns the kind of a reference; undefined when the kind is not served. */
  #kindOf(owner: OwnerReference): Resource | undefined {
    return this.#followed.get(kindName(groupOf(owner), owner.kind))?.resource;
  }

  /**
   * Logs a warning when an object is deleted because its owner is in another namespace. Nothing else shows this cause.
   */
  #warnOfOtherNamespace({ resource, key }: Node, owner: OwnerReference): void {
    const { table, logger } = this.#parts;
    const owners = this.#kindOf(owner);
    if (owners?.model.scope !== 'Namespaced') return;
    if (this.#elsewhere?.uid !== owner.uid) {
      const isThere = ({ name }: Entry): boolean => owners.cache.get(`${name}/${owner.name}`)?.uid === owner.uid;
      const namespaces = table.get(namespaceKind)?.cache.entries() ?? [];
      this.#elsewhere = { uid: owner.uid, namespace: [...namespaces].find(isThere)?.name };
    }
    const { namespace } = this.#elsewhere;
    if (namespace === undefined) return;
    const message = 'an object was deleted, because its owner is in another namespace';
    logger.warn({ object: idOf({ resource, key }), owner, namespace }, message);
  }
}

/** True for an object that is being deleted, and remains until its dependents are deleted or released. */
function staysFor(entry: Entry): entry is Entry & { readonly deletion: 'Foreground' | 'Orphan' } {
  return entry.deletion === 'Foreground' || entry.deletion === 'Orphan';
}

/** Returns the group of an owner. Its version does not matter, since a kind has the same objects in all versions. */
function groupOf({ apiVersion }: OwnerReference): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

function kindName(group: string, kind: string): string {
  return `${group}/${kind}`;
}
