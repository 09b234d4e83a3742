import { isConflict, isNotFound, keyOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, Logger, OwnerReference } from '@homeostat/controller-runtime/api';
import type { FeedChange } from '../index/change-feed.ts';
import type { Entry } from '../index/entry.ts';
import { decodeObject } from '../registry/object-codec.ts';
import type { Registry } from '../registry/registry.ts';
import type { Resource } from '../registry/resource.ts';
import type { ResourceTable } from '../registry/resource-table.ts';

export interface GarbageCollectorOptions {
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly logger: Logger;
}

/** Objects judged in one turn of the event loop; requests get theirs in between. */
const judgedPerTurn = 100;

/** An object that has owners. */
interface Dependent {
  readonly resource: Resource;
  readonly key: string;
}

/**
 * Deletes objects whose owners are all gone, in the background (Kubernetes' garbage collection by owner UID). An owner
 * of the same name with another UID counts as gone; one whose kind is not served is unknown, and keeps its dependents.
 */
export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;
  readonly #dependents = new Map<string, Map<string, Dependent>>();
  readonly #unsubscribe = new Map<Resource, () => void>();
  readonly #waiting = new Map<string, Dependent>();
  #run: Promise<void> | undefined;
  #stopped = false;

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    options.table.on('opened', (resource) => this.#follow(resource));
    options.table.on('closed', (resource) => this.#unfollow(resource));
  }

  isIdle(): boolean {
    return this.#run === undefined;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const unsubscribe of this.#unsubscribe.values()) unsubscribe();
    await this.#run;
  }

  #follow(resource: Resource): void {
    this.#unsubscribe.set(
      resource,
      resource.feed.subscribe((change) => this.#onChange(resource, change)),
    );
    for (const entry of resource.cache.entries()) this.#link(resource, entry);
    // What was unknown while this kind was not served can be judged now.
    for (const dependents of this.#dependents.values())
      for (const dependent of dependents.values()) this.#enqueue(dependent);
  }

  #unfollow(resource: Resource): void {
    this.#unsubscribe.get(resource)?.();
    this.#unsubscribe.delete(resource);
    for (const entry of resource.cache.entries()) this.#unlink(resource, entry);
  }

  #onChange(resource: Resource, { type, entry, previous }: FeedChange): void {
    if (previous !== undefined) this.#unlink(resource, previous);
    if (type !== 'DELETED') return this.#linkAndJudge(resource, entry);
    for (const dependent of this.#dependents.get(entry.uid ?? '')?.values() ?? []) this.#enqueue(dependent);
  }

  #linkAndJudge(resource: Resource, entry: Entry): void {
    if (entry.ownerUids === undefined) return;
    this.#link(resource, entry);
    this.#enqueue({ resource, key: entry.key });
  }

  #link(resource: Resource, entry: Entry): void {
    for (const uid of entry.ownerUids ?? []) {
      const dependents = this.#dependents.get(uid) ?? new Map<string, Dependent>();
      this.#dependents.set(uid, dependents);
      dependents.set(resource.keyPrefix + entry.key, { resource, key: entry.key });
    }
  }

  #unlink(resource: Resource, entry: Entry): void {
    for (const uid of entry.ownerUids ?? []) {
      const dependents = this.#dependents.get(uid);
      dependents?.delete(resource.keyPrefix + entry.key);
      if (dependents?.size === 0) this.#dependents.delete(uid);
    }
  }

  #enqueue(dependent: Dependent): void {
    if (this.#stopped) return;
    this.#waiting.set(dependent.resource.keyPrefix + dependent.key, dependent);
    this.#begin();
  }

  #begin(): void {
    this.#run ??= this.#work().finally(() => {
      this.#run = undefined;
      // It may have come between the last look and this.
      if (this.#waiting.size > 0 && !this.#stopped) this.#begin();
    });
  }

  async #work(): Promise<void> {
    let judged = 0;
    for (const [id, dependent] of this.#waiting) {
      if (this.#stopped) return;
      this.#waiting.delete(id);
      await this.#judge(dependent);
      judged += 1;
      if (judged % judgedPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #judge(dependent: Dependent): Promise<void> {
    const entry = dependent.resource.cache.get(dependent.key);
    if (entry?.ownerUids === undefined) return;
    const object = decodeObject(entry.bytes);
    const owners = object.metadata.ownerReferences ?? [];
    const absent = owners.filter((owner) => this.#isAbsent(owner, object));
    if (absent.length === 0) return;
    try {
      if (absent.length === owners.length) await this.#delete(dependent.resource, object);
      else await this.#strip(dependent.resource, object, absent);
    } catch (err) {
      this.#onFailure(dependent, err);
    }
  }

  /** True when the owner's kind is served, and no object of that name has that uid. */
  #isAbsent(owner: OwnerReference, dependent: ApiObject): boolean {
    const resource = this.#options.table
      .served()
      .find(({ model }) => model.kind === owner.kind && model.group === groupOf(owner));
    if (resource === undefined) return false;
    const { namespace } = dependent.metadata;
    // An owner in a namespace cannot own what is in none: such an object is never deleted.
    if (resource.model.scope === 'Namespaced' && namespace === undefined) return false;
    const key = resource.model.scope === 'Namespaced' ? `${namespace}/${owner.name}` : owner.name;
    return resource.cache.get(key)?.uid !== owner.uid;
  }

  async #delete(resource: Resource, object: ApiObject): Promise<void> {
    const { uid, resourceVersion } = object.metadata;
    await this.#options.registry.delete(resource, keyOf(object), { preconditions: { uid, resourceVersion } });
    this.#options.logger.info(
      { kind: resource.model.kind, name: object.metadata.name },
      'deleted: its owners are gone',
    );
  }

  /** Some owners are left: the others are taken out of the list. */
  async #strip(resource: Resource, object: ApiObject, absent: readonly OwnerReference[]): Promise<void> {
    const ownerReferences = (object.metadata.ownerReferences ?? []).filter((owner) => !absent.includes(owner));
    const next = { ...object, metadata: { ...object.metadata, ownerReferences } };
    await this.#options.registry.update(resource, keyOf(object), () => structuredClone(next), {
      writer: 'service',
    });
  }

  #onFailure(dependent: Dependent, err: unknown): void {
    if (isNotFound(err)) return;
    if (isConflict(err)) return this.#enqueue(dependent);
    this.#options.logger.error(
      { err, kind: dependent.resource.model.kind, key: dependent.key },
      'garbage collection failed',
    );
  }
}

/** The version says nothing of who owns: a kind has the same objects in all of them. */
function groupOf({ apiVersion }: OwnerReference): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
