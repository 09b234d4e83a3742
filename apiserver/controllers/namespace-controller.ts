import { isAlreadyExists, isConflict, isNotFound, reasonOf } from '@homeostat/controller-runtime/api';
import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import { staysWithOwner } from '../builtin/stays-with-owner.ts';
import { defaultNamespace, isNamespaceKind, namespaceFinalizer, namespaceKind } from '../builtin/namespace-kind.ts';
import type { NamespaceObject } from '../builtin/namespace-kind.ts';
import type { FeedChange } from '../index/feed-change.ts';
import type { Entry } from '../index/entry.ts';
import type { KindCache } from '../index/kind-cache.ts';
import type { KindIndex } from '../index/kind-index.ts';
import { deleteEntries } from '../registry/delete-entries.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import type { Registry } from '../registry/registry.ts';
import type { WriteOptions } from '../registry/writes/write-options.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Revisions } from '../registry/history/revisions.ts';
import { namespaceOfKey } from '../store/object-key.ts';
import type { Store } from '../store/store.ts';
import { DefaultAccounts } from './default-accounts.ts';
import { WorkLoop } from './work-loop.ts';

export interface NamespaceControllerParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The number of objects that are deleted at the same time. */
const deletedAtOnce = 100;

/**
 * The time for which a deleted namespace keeps its objects. So `kubectl delete -f` of a file with a namespace and its
 * objects still finds each object. Kubernetes calls it `namespaceDeletionGracePeriod`.
 */
const graceMs = 5000;

const asService = { writer: 'service', fieldManager: 'homeostat', isOwnUpkeep: true } as const;

/**
 * Empties namespaces that are being deleted, after a grace period, and then removes their finalizer. All state is in
 * the namespaces, so the work continues after a restart, and several replicas may do it at the same time. A namespace
 * with objects of a kind that is not served remains until the kind is served. Each creation requires the claim of its
 * namespace, and the commit that sets `deletionTimestamp` releases this claim. So once memory has this commit, it has
 * all objects of the namespace.
 */
export class NamespaceController {
  readonly #parts: NamespaceControllerParts;
  readonly #unsubscribe = new Map<Resource, () => void>();
  /** The names of the namespaces that are being deleted. Each has a timer during its grace period. */
  readonly #terminating = new Map<string, Timer | undefined>();
  readonly #queue: WorkLoop<string>;
  readonly #accounts: DefaultAccounts;

  constructor(parts: NamespaceControllerParts) {
    this.#parts = parts;
    this.#queue = new WorkLoop({
      clock: parts.clock,
      idOf: (name) => name,
      handle: async (name) => this.#handle(name),
      onFailure: (namespace, err) =>
        parts.logger.error({ err, namespace }, 'a namespace could not be emptied; trying again later'),
    });
    this.#accounts = new DefaultAccounts(parts);
    parts.table.on('opened', (resource) => this.#follow(resource));
    parts.table.on('closed', (resource) => this.#unfollow(resource));
  }

  /**
   * Creates the namespace `default` and its ServiceAccount `default` if they are absent. Another replica may create
   * them first.
   */
  async ensureDefault(): Promise<void> {
    const namespaces = await this.#parts.table.whenReady(namespaceKind);
    if (namespaces.cache.get(defaultNamespace) === undefined) await this.#createDefault(namespaces);
    await this.#accounts.ensure(defaultNamespace);
  }

  async #createDefault(namespaces: Resource): Promise<void> {
    const body = { apiVersion: namespaces.apiVersion, kind: namespaceKind.kind, metadata: { name: defaultNamespace } };
    try {
      await this.#parts.registry.create(namespaces, () => structuredClone(body), asService);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /**
   * True when no namespace is being emptied, and no account is being created. Namespaces in their grace period do not
   * count.
   */
  isIdle(): boolean {
    return this.#queue.isIdle() && this.#accounts.isIdle();
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe.values()) unsubscribe();
    this.#forgetAll();
    await Promise.all([this.#queue.stop(), this.#accounts.stop()]);
  }

  #follow(resource: Resource): void {
    const isNamespaces = isNamespaceKind(resource.model);
    if (!isNamespaces && resource.model.scope !== 'Namespaced') return;
    const onChange = isNamespaces
      ? (change: FeedChange) => this.#onNamespace(change)
      : (change: FeedChange) => this.#onObject(change);
    this.#unsubscribe.set(resource, resource.feed.subscribe(onChange));
    if (isNamespaces) for (const entry of resource.cache.entries()) this.#note(entry);
    // The newly served kind may have the last objects of the namespaces that are being deleted.
    for (const name of this.#terminating.keys()) this.#wake(name);
  }

  #unfollow(resource: Resource): void {
    this.#unsubscribe.get(resource)?.();
    this.#unsubscribe.delete(resource);
    if (isNamespaceKind(resource.model)) this.#forgetAll();
  }

  #onNamespace({ type, entry }: FeedChange): void {
    if (type === 'DELETED') this.#forget(entry.name);
    else this.#note(entry);
  }

  #note({ name, deletion }: Entry): void {
    if (deletion === undefined) return;
    if (this.#terminating.has(name)) return this.#wake(name);
    const grace = this.#parts.clock.setTimeout(() => {
      this.#terminating.set(name, undefined);
      this.#queue.add(name);
    }, graceMs);
    grace.unref?.();
    this.#terminating.set(name, grace);
  }

  /**
   * Called when an object changes. If its namespace is being deleted, the creation or removal of the object adds the
   * namespace to the queue: a new object must be deleted, too, and a removed one may have been the last one.
   */
  #onObject({ type, entry }: FeedChange): void {
    const { namespace } = entry;
    if (type !== 'MODIFIED' && namespace !== undefined) this.#wake(namespace);
  }

  /** Adds a namespace to the queue if it is being deleted, and its grace period is over. */
  #wake(name: string): void {
    if (this.#terminating.has(name) && this.#terminating.get(name) === undefined) this.#queue.add(name);
  }

  #forget(name: string): void {
    this.#parts.clock.clearTimeout(this.#terminating.get(name));
    this.#terminating.delete(name);
  }

  #forgetAll(): void {
    for (const name of this.#terminating.keys()) this.#forget(name);
  }

  async #handle(name: string): Promise<void> {
    try {
      await this.#empty(name);
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error)) throw error;
      this.#queue.add(name);
    }
  }

  async #empty(name: string): Promise<void> {
    // Memory first takes in all writes of other replicas: one of them may have removed the namespace, and created a new
    // namespace of the same name, which must keep its contents.
    await this.#parts.revisions.reach(undefined);
    if (!this.#terminating.has(name)) return;
    await this.#deleteContents(name);
    // If objects remain, a later change wakes the namespace again: an object loses its finalizers, a creation in
    // progress is committed, or a kind is served.
    await this.#prepareContents();
    if (this.#contents(name).length === 0 && !(await this.#isInStore(name))) await this.#finalize(name);
  }

  /**
   * Deletes the objects of a namespace. Objects for which `staysWithOwner` is true are deleted after all others are
   * removed. If a deletion fails, the objects of the other kinds are still deleted, except after ServiceUnavailable.
   * Rejects with the first failure.
   */
  async #deleteContents(name: string): Promise<void> {
    const failures: unknown[] = [];
    await this.#prepareContents();
    const contents = this.#contents(name);
    const first = contents.filter(([{ model }]) => !staysWithOwner(model));
    for (const [resource, entries] of first.length > 0 ? first : contents) {
      try {
        await deleteEntries(
          this.#parts.registry,
          { resource, entries, isWanted: ({ deletion }) => deletion === undefined },
          { atOnce: deletedAtOnce, optionsOf, isStopped: () => this.#queue.isStopped },
        );
      } catch (error) {
        if (reasonOf(error) === 'ServiceUnavailable') throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Builds the missing indexes that {@link #contents} reads, in several turns of the event loop if a kind is large. */
  async #prepareContents(): Promise<void> {
    for (const { cache } of this.#namespaced())
      await namespacesOf(cache)?.prepareCondition({ absent: false, order: false });
  }

  /** Returns the objects of a namespace as they are now, grouped by kind. Kinds without objects are left out. */
  #contents(name: string): readonly (readonly [Resource, Iterable<Entry>])[] {
    return this.#namespaced().flatMap((resource) => {
      const { cache } = resource;
      const broken = [...cache.broken.values()].filter(({ namespace }) => namespace === name);
      const { values } = namespacesOf(cache) ?? {};
      const { from, to } = values?.rangeOf(name) ?? nothing;
      if (from === to && broken.length === 0) return [];
      const places = values === undefined ? [] : cache.table.placesOf(values.rows(from, to));
      return [[resource, inTurn(places, broken)] as const];
    });
  }

  #namespaced(): readonly Resource[] {
    return this.#parts.table.served().filter(({ model }) => model.scope === 'Namespaced');
  }

  /**
   * True when the store still has an object of the namespace. The caller knows that no served kind has one. Also true
   * when the controller has stopped. The search reads the keys of the store up to the first such object.
   */
  async #isInStore(name: string): Promise<boolean> {
    for await (const rows of this.#parts.store.scan()) {
      if (this.#queue.isStopped) return true;
      const found = rows.find(({ key }) => namespaceOfKey(key) === name);
      if (found === undefined) continue;
      const { logger } = this.#parts;
      logger.info(
        { namespace: name, key: found.key },
        'a namespace that is being deleted waits for a kind to be served',
      );
      return true;
    }
    return false;
  }

  async #finalize(name: string): Promise<void> {
    const { registry, table, logger } = this.#parts;
    const namespaces = table.get(namespaceKind);
    const entry = namespaces?.cache.get(name);
    if (namespaces === undefined || entry === undefined) return;
    const stored: NamespaceObject = decodeObject(entry.bytes);
    const finalizers = stored.spec?.finalizers ?? [];
    if (stored.metadata.deletionTimestamp === undefined || !finalizers.includes(namespaceFinalizer)) return;
    const next = { ...stored, spec: { finalizers: finalizers.filter((each) => each !== namespaceFinalizer) } };
    await registry.update(namespaces, { name }, () => structuredClone(next), {
      ...asService,
      subresource: 'finalize',
    });
    logger.info({ namespace: name }, 'emptied a namespace that is being deleted');
  }
}

const nothing = { from: 0, to: 0 };

function namespacesOf(cache: KindCache): KindIndex | undefined {
  return cache.index('metadata.namespace');
}

function* inTurn(...lists: readonly Iterable<Entry>[]): Generator<Entry, void, undefined> {
  for (const list of lists) yield* list;
}

/** Returns options that restrict a write to this object, so that a new object of the same name is not changed. */
function optionsOf({ uid }: Entry): WriteOptions {
  return uid === undefined ? {} : { preconditions: { uid } };
}
