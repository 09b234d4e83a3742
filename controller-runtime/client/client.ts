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
   * The id of the controller run that makes the request, set by the client of the run and shown in request logs. It is
   * not sent to a server.
   */
  readonly reconcileID?: string;
}

export interface NamespaceOptions extends RequestOptions {
  /**
   * The namespace. Namespaced models require it for every verb except `list` and `watch`, for which absent means all
   * namespaces.
   */
  readonly namespace?: string;
}

export interface GetOptions extends NamespaceOptions {
  /**
   * `0` allows any state, and a revision allows a state that is not older than the revision. When absent, the read is
   * linearizable.
   */
  readonly resourceVersion?: string;
}

export interface WriteOptions extends NamespaceOptions {
  /** True for a request that gets the usual response, but stores nothing. */
  readonly dryRun?: boolean;
  /**
   * The treatment of fields that the schema does not know. Default Warn: such fields are pruned, and the warning is
   * logged.
   */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /** The name of the field manager: at most 128 printable characters. */
  readonly fieldManager?: string;
  /**
   * The leader that writes. The write is refused (Conflict, see `isFormerLeader`) if this leader does not hold its
   * lease when the write is committed.
   */
  readonly leader?: LeaderEpoch;
}

export interface ListOptions extends NamespaceOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** `<field>,<asc|desc>`; with several of them, the first is the most important. */
  readonly sort?: string | readonly string[];
  /** The number of the page, from 1; needs {@link size}. */
  readonly page?: number;
  readonly size?: number;
  /** The size of a chunk, as in Kubernetes; not together with page and size. */
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'NotOlderThan' | 'Exact';
}

export interface WatchOptions extends NamespaceOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The watch delivers changes after this revision. When absent, it first delivers the present objects, as ADDED. */
  readonly resourceVersion?: string;
  readonly allowBookmarks?: boolean;
  /**
   * True for a watch that first delivers the present objects. A bookmark with the annotation
   * `k8s.io/initial-events-end` follows the last of them.
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
  /** `status`: the patch changes only status. */
  readonly subresource?: 'status';
  /**
   * The uid and the resourceVersion that the stored object must have; otherwise the patch rejects with Conflict.
   * Default: none.
   */
  readonly preconditions?: Preconditions;
}

export interface ApplyOptions extends WriteOptions {
  /**
   * The name of the field manager, which becomes the owner of the applied fields: at most 128 printable characters. A
   * field that it applied before and does not apply now is removed.
   */
  readonly fieldManager: string;
  /**
   * True to take over fields that other managers own and that get another value; otherwise such a field rejects with
   * Conflict.
   */
  readonly force?: boolean;
  /** `status`: only status is applied. */
  readonly subresource?: 'status';
}

/** The fields that a manager wants to own, and the name of their object. */
export type AppliedObject<T extends ApiObject> = DeepPartial<Omit<T, 'apiVersion' | 'kind' | 'metadata'>> & {
  readonly metadata: Partial<ApiObject['metadata']> & { readonly name: string };
};

/**
 * The API as a program sees it. It has two implementations, in process and over HTTP, which behave in the same way.
 * Every verb rejects with ApiError. Returned objects are deeply frozen. `update` and `updateStatus` find the model by
 * the object's apiVersion and kind.
 */
export interface Client {
  get<T extends ApiObject>(model: Model<T>, name: string, options?: GetOptions): Promise<T>;
  list<T extends ApiObject>(model: Model<T>, options?: ListOptions): Promise<ObjectList<T>>;
  create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options?: WriteOptions): Promise<T>;
  /**
   * Replaces the object. A metadata.resourceVersion (or version) in it is a precondition. Rejects with NotFound when
   * the object does not exist.
   */
  update<T extends ApiObject>(object: T, options?: WriteOptions): Promise<T>;
  /** Replaces only status. The object's uid and resourceVersion are preconditions, if it has them. */
  updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options?: WriteOptions): Promise<T>;
  patch<T extends ApiObject>(model: Model<T>, name: string, patch: Patch, options?: PatchOptions): Promise<T>;
  /**
   * Server-side apply: the object has these fields afterwards, and is created when it is absent. Fields that this
   * manager applied before and now leaves out are removed, unless other managers own them. When fields of other
   * managers would get another value, it rejects with Conflict, with a cause for each of these fields.
   */
  apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T>;
  /**
   * Resolves with the object when finalizers keep it, and with undefined when it is deleted, or cannot be converted to
   * the model's version.
   */
  delete<T extends ApiObject>(model: Model<T>, name: string, options?: DeleteOptions): Promise<T | undefined>;
  /**
   * Creates the object, or merges `desired` into it (RFC 7396); writes nothing when that changes nothing. It tries
   * again after a conflict, and after another client has created the object first.
   */
  ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * Yields the changes after a revision, each once, in order. Ends when the signal aborts. A connection that is lost or
   * ended by the server is resumed. The iteration rejects with Expired when the server no longer has the history.
   */
  watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /**
   * An informer of a kind, with handlers and indexes of its own; it holds no objects before it is run. Informers with
   * the same options share one cache while they are run. Throws BadRequest for an invalid selection.
   */
  informer<T extends ApiObject>(
    model: Model<T>,
    options: InformerOptions & { readonly metadataOnly: true },
  ): Informer<ApiObject>;
  informer<T extends ApiObject>(model: Model<T>, options?: InformerOptions<T>): Informer<T>;
}

/** The type of an object's status: `never` for a kind without a status, `unknown` for objects of unknown type. */
export type StatusOf<T extends ApiObject> = DeclaredStatus<{ readonly [K in keyof T]: T[K] }>;

// A mapped type, so that TypeScript 5.9 accepts a controller of one kind as a controller of any kind: with a mapped
// type, it compares the arguments of `status`; with a condition on T itself, it would compare T.
type DeclaredStatus<T> = 'status' extends keyof T
  ? T extends { readonly status?: infer S }
    ? Exclude<S, undefined>
    : never
  : keyof T extends keyof ApiObject
    ? unknown
    : never;

/** A part of an object, which is merged into the present object. */
export type Desired<T extends ApiObject> = MergePatch<Omit<T, 'apiVersion' | 'kind' | 'metadata'>> & {
  readonly metadata?: MergePatch<Partial<ApiObject['metadata']>>;
};

/**
 * A patch that is merged into a value (RFC 7396): it has any of the value's fields, and null removes an optional field.
 * Lists are replaced as a whole.
 */
export type MergePatch<V> = V extends readonly unknown[]
  ? V
  : V extends object
    ? { readonly [K in keyof V]?: MergePatch<V[K]> | (IsOptional<V, K> extends true ? null : never) }
    : V;

/** True for an optional field, and for the fields of a map. */
type IsOptional<V, K extends keyof V> = string extends K ? true : Partial<Pick<V, K>> extends Pick<V, K> ? true : false;

export type DeepPartial<V> = V extends readonly unknown[]
  ? V
  : V extends object
    ? { readonly [K in keyof V]?: DeepPartial<V[K]> }
    : V;
