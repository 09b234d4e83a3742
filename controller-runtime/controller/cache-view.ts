import { formatKey, type ApiObject, type ObjectKey } from '../api/index.ts';
import type { Informer } from '../client/informer.ts';
import { compareRevisions } from '../cache/compare-revisions.ts';
import { kindIdOfObject } from './kind-id.ts';

/** Which object: its kind and its key. */
export interface Target {
  readonly kindId: string;
  readonly key: ObjectKey;
}

/** What a write of ours made of an object that the cache has not shown yet: its new state, or that it is gone. */
type Written = { readonly object: ApiObject } | { readonly goneUid: string };

/**
 * The caches of one controller, seen through its own writes: an object that it wrote is never read back older than it
 * wrote it. Holds a written object only until the cache has caught up with it.
 */
export class CacheView {
  readonly #informers: ReadonlyMap<string, Informer<ApiObject>>;
  readonly #written = new Map<string, Written>();

  /** By kind id. Kinds without an informer are not followed: nothing is held for them. */
  constructor(informers: ReadonlyMap<string, Informer<ApiObject>>) {
    this.#informers = informers;
  }

  follows(kindId: string): boolean {
    return this.#informers.has(kindId);
  }

  /** The newest state known; undefined when absent. */
  read(target: Target): ApiObject | undefined {
    const cached = this.#informers.get(target.kindId)?.get(target.key);
    if (this.#written.size === 0) return cached;
    const id = idOf(target);
    const written = this.#written.get(id);
    if (written === undefined) return cached;
    if ('goneUid' in written) {
      if (cached?.metadata.uid === written.goneUid) return undefined;
    } else if (!this.hasReached(target, written.object.metadata.resourceVersion)) {
      return written.object;
    }
    this.#written.delete(id);
    return cached;
  }

  /** The newest state known of this very object; of a namesake, or when none is known, the object itself. */
  newest<T extends ApiObject>(object: T): T {
    const found = this.read(targetOf(object));
    return found?.metadata.uid === object.metadata.uid ? (found as T) : object;
  }

  /** Remembers the answer of a write, until the cache has it. */
  record(object: ApiObject): void {
    const target = targetOf(object);
    if (!this.follows(target.kindId) || this.hasReached(target, object.metadata.resourceVersion)) return;
    this.#written.set(idOf(target), { object });
  }

  /** Remembers that a write of ours removed the object, until the cache knows. */
  recordGone(target: Target): void {
    const cached = this.#informers.get(target.kindId)?.get(target.key);
    if (cached === undefined) this.#written.delete(idOf(target));
    else this.#written.set(idOf(target), { goneUid: cached.metadata.uid });
  }

  /** The cache delivered this state: what was written before is no longer needed. */
  observed(object: ApiObject): void {
    if (this.#written.size === 0) return;
    const id = idOf(targetOf(object));
    const written = this.#written.get(id);
    if (written === undefined) return;
    const isOld = 'object' in written && isNewer(written.object, object);
    if (!isOld) this.#written.delete(id);
  }

  /** The cache has the object at this revision or a later one, or knows that it is gone. */
  hasReached(target: Target, revision: string): boolean {
    const reached = this.#revisionOf(target);
    return reached !== undefined && compareRevisions(reached, revision) >= 0;
  }

  /** The cache is beyond this revision of the object. */
  hasPassed(target: Target, revision: string): boolean {
    const reached = this.#revisionOf(target);
    return reached !== undefined && compareRevisions(reached, revision) > 0;
  }

  /** Of the object as the cache has it; of one that it does not have, or cannot show, the cache's own. */
  #revisionOf({ kindId, key }: Target): string | undefined {
    const informer = this.#informers.get(kindId);
    try {
      return informer?.get(key)?.metadata.resourceVersion ?? informer?.resourceVersion;
    } catch {
      return informer?.resourceVersion;
    }
  }
}

/** The kind and key of an object. */
export function targetOf(object: ApiObject): Target {
  const { namespace, name } = object.metadata;
  return { kindId: kindIdOfObject(object), key: namespace === undefined ? { name } : { namespace, name } };
}

/** One string for a target, for maps. */
export function idOf(target: Target): string {
  return `${target.kindId}/${formatKey(target.key)}`;
}

function isNewer(a: ApiObject, b: ApiObject): boolean {
  return compareRevisions(a.metadata.resourceVersion, b.metadata.resourceVersion) > 0;
}
