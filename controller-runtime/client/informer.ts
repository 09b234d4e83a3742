import type { ApiObject, ObjectKey } from '../api/index.ts';

/**
 * The objects that an informer follows, and the fields that it keeps. Making an informer with invalid namespaces or an
 * invalid selector throws ApiError BadRequest.
 */
export interface InformerOptions<T extends ApiObject = ApiObject> {
  /**
   * Follows only objects of these namespaces, at most 100. Over HTTP, each namespace is listed and watched separately.
   * Default: all namespaces.
   */
  readonly namespaces?: readonly string[];
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /**
   * True to follow only metadata: objects are `PartialObjectMetadata` of `meta.k8s.io/v1`, and over HTTP their other
   * fields are not sent. Default false.
   */
  readonly metadataOnly?: boolean;
  /**
   * Returns the object that the cache keeps, without unused fields. It is called with each state of an object; the
   * state is frozen. It must be pure, and keep name, namespace, uid and resourceVersion. When it throws or changes one
   * of these four fields, an error is logged, and the cache keeps the whole object. Informers with different functions
   * have different caches.
   */
  transform?(this: void, object: T): T;
}

/**
 * A handler is called with the changes of one kind, in order and one at a time. Each handler has a buffer of its own,
 * so a slow handler does not delay the others. When a handler throws, the error is logged, and the handler receives the
 * next event. When more than 10,000 events wait for a handler, it does not receive the intermediate states of objects.
 * The objects are frozen, and all handlers receive the same objects.
 */
export interface InformerHandler<T extends ApiObject> {
  /** `initial` is true for the existing objects, which a new handler receives first. */
  onAdd?(object: T, info: { readonly initial: boolean }): void;
  /**
   * Called when an object has changed, and in each resync ({@link HandlerOptions.resyncMs}) with every cached object.
   * In a resync, `previous` and `object` have the same resourceVersion.
   */
  onUpdate?(previous: T, object: T): void;
  /**
   * Called with the last known state of a deleted object. Its resourceVersion is the revision of the deletion, if the
   * informer knows that revision.
   */
  onDelete?(object: T): void;
}

export interface HandlerOptions {
  /**
   * The interval in milliseconds at which the handler is called again with every cached object, as an update that
   * changes nothing. A number that is not above 0 causes a RangeError. Default: never.
   */
  readonly resyncMs?: number;
}

export interface HandlerRegistration {
  /** True once this handler has received all existing objects, with `initial` true. */
  hasSynced(): boolean;
  /** True when no event waits for this handler, and no call of it is under way. */
  isIdle(): boolean;
  remove(): void;
}

/**
 * A cache of the objects of one kind, or of some of them, that follows the server. The cache is empty until it has
 * synced, and again after {@link Informer.run} has ended.
 */
export interface Informer<T extends ApiObject> {
  /** Returns an object from the cache; undefined when the cache does not have it. */
  get(key: ObjectKey): T | undefined;
  /** All cached objects, in no particular order. */
  list(): readonly T[];
  /** The revision that the cache has reached; `0` while it has not synced. */
  readonly resourceVersion: string;
  /**
   * Adds an index. The function returns the values under which the index finds an object. Throws RangeError when an
   * index with this name has another function. When the function throws for an object, the error is logged, and the
   * index does not find the object. An index that is added while the informer runs is filled in several turns of the
   * event loop; await {@link Informer.whenIndexed} before the first `byIndex`. Without this wait, that `byIndex` fills
   * the rest of the index in one turn, which takes 25 µs for each object.
   */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void;
  /** Resolves when no index is being filled, or the run has ended. */
  whenIndexed(): Promise<void>;
  /**
   * Returns the objects that an index has under a value. The call takes time in proportion to the number of returned
   * objects. Throws RangeError when there is no such index.
   */
  byIndex(name: string, value: string): readonly T[];
  /**
   * Adds a handler, which receives the existing objects first, and then the changes. When the informer stops and runs
   * again, the handler receives the differences since the stop.
   */
  addHandler(handler: InformerHandler<T>, options?: HandlerOptions): HandlerRegistration;
  /** True once the cache has received all existing objects, until {@link Informer.run} has ended. */
  hasSynced(): boolean;
  /**
   * Follows the server until the signal aborts. The promise resolves when everything has stopped, at most 10 s later:
   * if handlers have not settled by then, the informer logs a warning and does not wait for them. Several callers share
   * one run, which ends when the signals of all of them have aborted. A call whose signal aborts earlier settles at
   * once. When the server does not serve the kind, the informer waits until it does. Never rejects.
   */
  run(signal: AbortSignal): Promise<void>;
}
