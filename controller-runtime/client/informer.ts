import type { ApiObject, ObjectKey } from '../api/index.ts';

/**
 * The objects that an informer follows, and the fields that it keeps. Selections are checked at once: BadRequest names
 * the option.
 */
export interface InformerOptions<T extends ApiObject = ApiObject> {
  /** Objects of these namespaces alone, at most 100; each is listed and watched by itself. Default all. */
  readonly namespaces?: readonly string[];
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /**
   * Follows metadata and nothing else: objects are `PartialObjectMetadata` of `meta.k8s.io/v1`, and over HTTP the rest is
   * not sent. Default false.
   */
  readonly metadataOnly?: boolean;
  /**
   * Returns what the cache keeps of an object: unused fields need not be stored. Called with each state, which is frozen and
   * not to be changed; must be pure, and keep name, namespace, uid and resourceVersion. When it throws or does not
   * keep them, that is reported, and the object is kept whole. Informers with different functions are different
   * caches.
   */
  transform?(this: void, object: T): T;
}

/**
 * Is called with the changes of one kind. Calls come in order, one at a time, each handler from a buffer of its own:
 * a slow one does not delay the others, and one that throws is reported and gets the next event. Objects are frozen
 * and shared.
 */
export interface InformerHandler<T extends ApiObject> {
  /** `initial` is true when the object existed before the handler was added. */
  onAdd?(object: T, info: { readonly initial: boolean }): void;
  /** Equal resourceVersions: a resync. */
  onUpdate?(previous: T, object: T): void;
  /** The last known state, with the revision of the deletion if that is known. */
  onDelete?(object: T): void;
}

export interface HandlerOptions {
  /**
   * Calls this handler again with every cached object, as an update that changes nothing, each time this many
   * milliseconds have passed. It must be above 0 (RangeError). Default never.
   */
  readonly resyncMs?: number;
}

export interface HandlerRegistration {
  /** True once every object of the initial list has been delivered to this handler. */
  hasSynced(): boolean;
  /** True when no event waits for this handler. */
  isIdle(): boolean;
  remove(): void;
}

/** A cache of one kind (or of a selection of it) that follows the server. It is empty until it is run. */
export interface Informer<T extends ApiObject> {
  /** Reads the cache; undefined when absent. */
  get(key: ObjectKey): T | undefined;
  /** All cached objects, in no particular order. */
  list(): readonly T[];
  /** The revision that the cache has reached; `0` while it has not synced. */
  readonly resourceVersion: string;
  /**
   * Adds an index, whose function returns the values under which an object is found. Throws RangeError when another
   * function has that name. A function that throws is reported, and its object is found under no value. An index that
   * is added while the informer runs is filled in several turns of the event loop; await {@link Informer.whenIndexed}
   * before its first `byIndex`, which would otherwise complete it in one turn: 25 µs for each object.
   */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void;
  /** Resolves when no index is being filled, or the run has ended. */
  whenIndexed(): Promise<void>;
  /**
   * Returns the objects under a value of an index, in time in proportion to their number. Throws RangeError when there
   * is no such index.
   */
  byIndex(name: string, value: string): readonly T[];
  /**
   * The handler gets the present objects first, then every change. A handler that stays while the informer does not
   * run receives the differences when it runs again.
   */
  addHandler(handler: InformerHandler<T>, options?: HandlerOptions): HandlerRegistration;
  /** True while the cache holds all objects. */
  hasSynced(): boolean;
  /**
   * Follows the server until the signal aborts; settles when all of it has stopped, 10 s later at most: handlers that have
   * not settled by then are left behind, which is logged. Several callers share one run; it
   * ends with the last. Waits for a kind that is not served, and follows one that comes back. Never rejects.
   */
  run(signal: AbortSignal): Promise<void>;
}
