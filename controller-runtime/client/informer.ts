import type { ApiObject, ObjectKey } from '../api/index.ts';

export interface InformerOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/**
 * Learns of changes of one kind. Calls come in order, one at a time, each handler from a buffer of its own: a slow one
 * holds back nobody, one that throws is reported and goes on with the next event. Objects are frozen and shared.
 */
export interface InformerHandler<T extends ApiObject> {
  /** `initial`: the object was there before the handler. */
  onAdd?(object: T, info: { readonly initial: boolean }): void;
  /** Equal resourceVersions: a resync. */
  onUpdate?(previous: T, object: T): void;
  /** The last known state, with the revision of the deletion. */
  onDelete?(object: T): void;
}

export interface HandlerRegistration {
  /** True once every object of the initial list has been delivered to this handler. */
  hasSynced(): boolean;
  /** Nothing waits to be delivered to this handler. */
  isIdle(): boolean;
  remove(): void;
}

/** A cache of one kind (or of a selection of it) that follows the server. */
export interface Informer<T extends ApiObject> {
  /** Reads the cache; undefined when absent. */
  get(key: ObjectKey): T | undefined;
  /** All cached objects, in no particular order. */
  list(): readonly T[];
  /** The revision that the cache has reached; `0` before the first list. */
  readonly resourceVersion: string;
  /** The handler gets the present objects first, then every change. */
  addHandler(handler: InformerHandler<T>): HandlerRegistration;
  /** True once the first list is in the cache. */
  hasSynced(): boolean;
  /** Follows the server until the signal aborts; settles when all of it has stopped. Several callers share one run; it ends with the last. */
  run(signal: AbortSignal): Promise<void>;
}
