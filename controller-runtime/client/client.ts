import type {
  ApiObject,
  LeaderEpoch,
  Model,
  NewObject,
  ObjectKey,
  ObjectList,
  Preconditions,
  WatchEvent,
} from '../api/index.ts';
import type { Informer, InformerOptions } from './informer.ts';

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /**
   * The id of the controller run that makes the request. The client of the run sets it, and the fake clients for tests
   * record it with the request. It is not sent to a server.
   */
  readonly reconcileID?: string;
}

export interface NamespaceOptions extends RequestOptions {
  /**
   * The namespace. For a Namespaced model, every verb requires a namespace, here or in the object or key of the call.
   * Only `list` and `watch` do not: for them, absent means all namespaces.
   */
  readonly namespace?: string;
}

export interface GetOptions extends NamespaceOptions {
  /**
   * The oldest state that the read may return: `0` allows any state, and a revision allows the state at this revision
   * and any newer state. When absent, the read is linearizable.
   */
  readonly resourceVersion?: string;
}

export interface WriteOptions extends NamespaceOptions {
  /** True for a request that gets the usual response, but stores nothing. */
  readonly dryRun?: boolean;
  /**
   * The treatment of fields that the schema does not know. Default Warn: such fields are pruned, and the client logs a
   * warning.
   */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /** The name of the field manager: at most 128 printable ASCII characters. */
  readonly fieldManager?: string;
  /**
   * The leader that sends the write. The write is refused (Conflict, see `isFormerLeader`) if this leader does not hold
   * its lease when the write is committed.
   */
  readonly leader?: LeaderEpoch;
}

export interface ListOptions extends NamespaceOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The sort orders, each in the form `<field>,<asc|desc>`. The first one is the most important. */
  readonly sort?: string | readonly string[];
  /** The number of the page, from 1; needs {@link size}. */
  readonly page?: number;
  readonly size?: number;
  /** The maximum number of objects in a chunk, as in Kubernetes. It cannot be combined with page or size. */
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'NotOlderThan' | 'Exact';
}

export interface WatchOptions extends NamespaceOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /**
   * The watch delivers the changes after this revision. When it is absent or `0`, the watch first delivers the existing
   * objects as ADDED, unless `sendInitialEvents` is false.
   */
  readonly resourceVersion?: string;
  readonly allowBookmarks?: boolean;
  /**
   * True for a watch that first delivers the existing objects. With `allowBookmarks`, a bookmark with the annotation
   * `k8s.io/initial-events-end` follows the last of these objects.
   */
  readonly sendInitialEvents?: boolean;
}

export interface DeleteOptions extends WriteOptions {
  readonly preconditions?: Preconditions;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
}

/** A patch and its media type: RFC 6902 (json-patch) or RFC 7396 (merge-patch). */
export type Patch =
  | { readonly type: 'json'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: 'merge'; readonly patch: object };

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

export interface PatchOptions extends WriteOptions {
  /** `status`: the patch changes only the status. */
  readonly subresource?: 'status';
  /**
   * The uid and the resourceVersion that the stored object must have; otherwise the call rejects with Conflict.
   * Default: no preconditions.
   */
  readonly preconditions?: Preconditions;
}

export interface ApplyOptions extends WriteOptions {
  /**
   * The name of the field manager, which becomes the owner of the applied fields: 1 to 128 printable ASCII characters.
   * A field that this manager applied before and does not apply now is removed, unless another manager owns it.
   */
  readonly fieldManager: string;
  /**
   * True: if this call changes the value of a field that another manager owns, the other manager loses the field.
   * Otherwise, a call that changes such a value rejects with Conflict.
   */
  readonly force?: boolean;
  /** `status`: only the status is applied. */
  readonly subresource?: 'status';
}

/** The fields that a field manager wants to own, and the name of their object. */
export type AppliedObject<T extends ApiObject> = DeepPartial<Omit<T, 'apiVersion' | 'kind' | 'metadata'>> & {
  readonly metadata: Partial<ApiObject['metadata']> & { readonly name: string };
};

/**
 * The interface through which programs use the API. It has two implementations, in process and over HTTP, which behave
 * in the same way. A verb that fails rejects with ApiError. Over HTTP, every verb except `watch` rejects with the
 * reason of its signal when the signal aborts. Returned objects are deeply frozen. `update` and `updateStatus` find the
 * model by the object's apiVersion and kind.
 */
export interface Client {
  get<T extends ApiObject>(model: Model<T>, name: string, options?: GetOptions): Promise<T>;
  list<T extends ApiObject>(model: Model<T>, options?: ListOptions): Promise<ObjectList<T>>;
  create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options?: WriteOptions): Promise<T>;
  /**
   * Replaces the object. A uid, resourceVersion or version in its metadata is a precondition. Rejects with NotFound
   * when the object does not exist.
   */
  update<T extends ApiObject>(object: T, options?: WriteOptions): Promise<T>;
  /** Replaces only the status. If the object has a uid or a resourceVersion, these are preconditions. */
  updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options?: WriteOptions): Promise<T>;
  patch<T extends ApiObject>(model: Model<T>, name: string, patch: Patch, options?: PatchOptions): Promise<T>;
  /**
   * Applies fields to an object (server-side apply): the object has these fields afterwards, and is created when it
   * does not exist. Fields that this field manager applied before and now leaves out are removed, unless other field
   * managers own them. When the call would change values of fields that other field managers own, and `force` is not
   * true, the call rejects with Conflict, with a cause for each of these fields.
   */
  apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T>;
  /**
   * Deletes an object. Resolves with the object when finalizers keep it. Resolves with undefined when the object is
   * gone, or when it cannot be converted to the model's version.
   */
  delete<T extends ApiObject>(model: Model<T>, name: string, options?: DeleteOptions): Promise<T | undefined>;
  /**
   * Creates the object, or merges `desired` into it (RFC 7396); writes nothing when the object already has these
   * values. After a conflict, or when another client has created the object first, the call tries again; after eight
   * attempts in total, it rejects with the last error.
   */
  ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * Yields the changes after a revision, each once, in order. Ends when the signal aborts. When the connection is lost
   * or the server ends it, the watch continues on a new connection. The iteration rejects with Expired when the server
   * no longer has the history.
   */
  watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /**
   * Makes an informer of a kind, with handlers and indexes of its own. It has no objects before it is run. Over HTTP,
   * informers of a kind with the same options share one cache while they are run. In the server's process, informers
   * usually read the server's cache. Throws BadRequest for an invalid selection.
   */
  informer<T extends ApiObject>(
    model: Model<T>,
    options: InformerOptions & { readonly metadataOnly: true },
  ): Informer<ApiObject>;
  informer<T extends ApiObject>(model: Model<T>, options?: InformerOptions<T>): Informer<T>;
}

/** The type of an object's status: `never` for a kind without a status, `unknown` for objects of unknown type. */
export type StatusOf<T extends ApiObject> = DeclaredStatus<{ readonly [K in keyof T]: T[K] }>;

// StatusOf gives DeclaredStatus a mapped copy of T. With the copy, TypeScript 5.9 compares only the types of `status`,
// and accepts a controller of one kind as a controller of any kind. With T itself, it would compare the whole of T.
type DeclaredStatus<T> = 'status' extends keyof T
  ? T extends { readonly status?: infer S }
    ? Exclude<S, undefined>
    : never
  : keyof T extends keyof ApiObject
    ? unknown
    : never;

/** The wanted part of an object, which is merged into the existing object. */
export type Desired<T extends ApiObject> = MergePatch<Omit<T, 'apiVersion' | 'kind' | 'metadata'>> & {
  readonly metadata?: MergePatch<Partial<ApiObject['metadata']>>;
};

/**
 * A patch that is merged into a value (RFC 7396): it may have any of the value's fields, and null removes an optional
 * field. Lists are replaced as a whole.
 */
export type MergePatch<V> = V extends readonly unknown[]
  ? V
  : V extends object
    ? { readonly [K in keyof V]?: MergePatch<V[K]> | (IsOptional<V, K> extends true ? null : never) }
    : V;

/** The type `true` for an optional field, and for each field of a map. */
type IsOptional<V, K extends keyof V> = string extends K ? true : Partial<Pick<V, K>> extends Pick<V, K> ? true : false;

export type DeepPartial<V> = V extends readonly unknown[]
  ? V
  : V extends object
    ? { readonly [K in keyof V]?: DeepPartial<V[K]> }
    : V;
