import { descriptorOf, formatKey, keyOf, type ApiObject, type Model, type ObjectKey } from '../../api/index.ts';
import type { IndexFunction } from '../../cache/cache-indexes.ts';
import type { Informer } from '../../client/informer.ts';
import { compareRevisions } from '../../cache/compare-revisions.ts';
import { cacheIdOf, cacheIdOfObject, kindIdOf, kindIdOfObject } from '../definition/kind-id.ts';

/**
 * The identity of an object: the id of its kind, which is the same for all versions; the id of the cache of its
 * version; and its key.
 */
export interface Target {
  readonly kindId: string;
  readonly cacheId: string;
  readonly key: ObjectKey;
}

/**
 * The result of a write of this controller that the cache has not received yet: the new state of the object, or its
 * deletion.
 */
interface Written {
  readonly target: Target;
  /** The new state; absent when the object is deleted. */
  readonly object?: ApiObject;
  readonly uid: string;
  /** The revision of the new state; for a deleted object, its last known revision. */
  readonly revision: string;
}

/** An index of a cache. */
export interface ViewIndex {
  readonly name: string;
  readonly valuesOf: IndexFunction<ApiObject>;
}

/**
 * The initial limit of remembered writes. When there are more, all writes that the caches have received are dropped.
 * Then the limit becomes twice the number of the remaining writes, but at least this initial limit. A write that its
 * cache has received is also dropped when its key is read, or when the cache delivers a state of its object.
 */
const sweepAbove = 1000;

/**
 * The caches of one controller, combined with its own writes, so that an object is never older than the controller's
 * last write of it. A written object is remembered only until the cache has reached the object's revision.
 */
export class CacheView {
  readonly #informers: ReadonlyMap<string, Informer<ApiObject>>;
  readonly #selective: ReadonlySet<string>;
  readonly #written = new Map<string, Written>();
  #sweepAbove = sweepAbove;

  /**
   * `informers` has the informers by cache id. Writes to a kind without an informer are not remembered. `selective` has
   * the ids of the caches that keep only the objects of a selector or of some namespaces. Default: none.
   */
  constructor(informers: ReadonlyMap<string, Informer<ApiObject>>, selective: ReadonlySet<string> = new Set()) {
    this.#informers = informers;
    this.#selective = selective;
  }

  /** The number of remembered writes. */
  get size(): number {
    return this.#written.size;
  }

  follows(cacheId: string): boolean {
    return this.#informers.has(cacheId);
  }

  /** True when the cache keeps only some objects of its kind, so that an object that is not in it may exist. */
  isSelective(cacheId: string): boolean {
    return this.#selective.has(cacheId);
  }

  /**
   * Returns the newest known state of an object; undefined when it does not exist, its kind is not followed, or its
   * cache is selective and does not keep it.
   */
  read(target: Target): ApiObject | undefined {
    const cached = this.#informers.get(target.cacheId)?.get(target.key);
    if (this.#written.size === 0) return cached;
    const id = recordIdOf(target);
    const written = this.#written.get(id);
    if (written === undefined) return cached;
    if (!this.#hasCaughtUp(written)) return written.object;
    this.#written.delete(id);
    return cached;
  }

  /**
   * Returns the newest known state of the given object. Returns the given object itself if no newer state is known, or
   * if the known state is that of a different object with the same name.
   */
  newest<T extends ApiObject>(object: T): T {
    const found = this.read(targetOf(object));
    return found?.metadata.uid === object.metadata.uid ? (found as T) : object;
  }

  /**
   * Returns the objects that an index of a cache has under a value, each in its newest known state. The cache must have
   * the index.
   */
  byIndex(cacheId: string, index: ViewIndex, value: string): readonly ApiObject[] {
    const cached = this.#informers.get(cacheId)?.byIndex(index.name, value) ?? [];
    if (this.#written.size === 0) return cached;
    const found = new Map(cached.map((object) => [formatKey(keyOf(object)), object]));
    for (const written of this.#written.values()) {
      if (written.target.cacheId !== cacheId || this.#hasCaughtUp(written)) continue;
      const key = formatKey(written.target.key);
      if (written.object !== undefined && index.valuesOf(written.object).includes(value))
        found.set(key, written.object);
      else found.delete(key);
    }
    return [...found.values()];
  }

  /** Remembers the result of a write until the cache has received it. */
  record(object: ApiObject): void {
    const target = targetOf(object);
    const { uid, resourceVersion: revision } = object.metadata;
    if (!this.follows(target.cacheId) || this.hasReached(target, revision)) return;
    this.#remember({ target, object, uid, revision });
  }

  /** Remembers, until the cache has received the deletion, that the controller deleted the object. */
  recordGone(target: Target): void {
    const written = this.#written.get(recordIdOf(target));
    // The last state that the controller wrote is newer than the state in the cache. If the controller has just created
    // the object, the cache may not have it yet, and receives the event of the creation after the controller's delete.
    // Then the view still has to hide the object, so it remembers the deletion even if the cache lacks the object.
    const last = written?.object ?? this.#cached(target);
    if (last === undefined) return;
    const { uid, resourceVersion: revision } = last.metadata;
    this.#remember({ target, uid, revision });
  }

  /**
   * Called when the cache has delivered this state. Forgets the controller's write of the object if the cache has
   * received the result of that write.
   */
  observed(object: ApiObject): void {
    if (this.#written.size === 0) return;
    const id = recordIdOf(targetOf(object));
    const written = this.#written.get(id);
    if (written !== undefined && this.#hasCaughtUp(written)) this.#written.delete(id);
  }

  /** True when the cache has the object at this revision or a later one, or has received its deletion. */
  hasReached(target: Target, revision: string): boolean {
    const reached = this.#revisionOf(target);
    return reached !== undefined && compareRevisions(reached, revision) >= 0;
  }

  /** True when the cache has a later state of the object than the one at this revision, or received its deletion. */
  hasPassed(target: Target, revision: string): boolean {
    const reached = this.#revisionOf(target);
    return reached !== undefined && compareRevisions(reached, revision) > 0;
  }

  #remember(written: Written): void {
    this.#written.set(recordIdOf(written.target), written);
    if (this.#written.size <= this.#sweepAbove) return;
    for (const [id, each] of this.#written) if (this.#hasCaughtUp(each)) this.#written.delete(id);
    this.#sweepAbove = Math.max(sweepAbove, this.#written.size * 2);
  }

  #hasCaughtUp({ target, object, uid, revision }: Written): boolean {
    if (object !== undefined) return this.hasReached(target, revision);
    const cached = this.#cached(target);
    // If the cache has reached a revision at which the object existed, but does not have the object, it has received
    // the object's deletion.
    if (cached === undefined) return this.hasReached(target, revision);
    return cached.metadata.uid !== uid && this.hasPassed(target, revision);
  }

  /**
   * Returns the revision of the object in the cache. Returns the revision of the cache itself if the cache does not
   * have the object, or cannot read it.
   */
  #revisionOf(target: Target): string | undefined {
    return this.#cached(target)?.metadata.resourceVersion ?? this.#informers.get(target.cacheId)?.resourceVersion;
  }

  /** Returns the object in the cache; undefined when the cache does not have it, or cannot read it. */
  #cached({ cacheId, key }: Target): ApiObject | undefined {
    try {
      return this.#informers.get(cacheId)?.get(key);
    } catch {
      return undefined;
    }
  }
}

/** Returns the identity of an object: the id of its kind, the id of its cache, and its key. */
export function targetOf(object: ApiObject): Target {
  return { kindId: kindIdOfObject(object), cacheId: cacheIdOfObject(object), key: keyIn(object.metadata) };
}

/** Returns the identity of the object that has this model and this key. */
export function targetIn(model: Model, key: PartialKey): Target {
  const descriptor = descriptorOf(model);
  return { kindId: kindIdOf(descriptor), cacheId: cacheIdOf(descriptor), key: keyIn(key) };
}

interface PartialKey {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Returns the key for the name and the namespace of an object. */
export function keyIn({ name, namespace }: PartialKey): ObjectKey {
  return namespace === undefined ? { name } : { namespace, name };
}

/**
 * Returns a string that identifies an object in maps. It contains the kind without the version: an object that is read
 * in two versions of its kind is one object, with one revision.
 */
export function idOf(target: Target): string {
  return `${target.kindId}/${formatKey(target.key)}`;
}

/**
 * Returns a string that identifies an object in one cache. Each version of a kind has a cache of its own, so the string
 * contains the version.
 */
function recordIdOf({ cacheId, key }: Target): string {
  return `${cacheId}/${formatKey(key)}`;
}
