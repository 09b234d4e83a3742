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
   * The id of the controller run that makes the request, set by the client of the run and shown in request logs. Not
   * sent.
   */
  readonly reconcileID?: string;
}

export interface NamespaceOptions extends RequestOptions {
  /** Required by Namespaced models on every verb but list and watch (there, absent means all namespaces). */
  readonly namespace?: string;
}

export interface GetOptions extends NamespaceOptions {
  /** `0` allows any state, N one that is not older than N. When absent, the read is linearizable. */
  readonly resourceVersion?: string;
}

export interface WriteOptions extends NamespaceOptions {
  /** Respond as usual, and store nothing. */
  readonly dryRun?: boolean;
  /** The treatment of fields that the schema does not know. Default Warn (prune, and log the warning). */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /** The name of the field manager: at most 128 printable characters. */
  readonly fieldManager?: string;
  /**
   * The leader that writes: refused (Conflict, see `isFormerLeader`) unless it holds its lease when the write is
   * committed.
   */
  readonly leader?: LeaderEpoch;
}

export interface ListOptions extends NamespaceOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** `<field>,<asc|desc>`; several sort in that order of importance. */
  readonly sort?: string | readonly string[];
  /** The number of the page, from 1; needs {@link size}. */
  readonly page?: number;
  readonly size?: number;
  /** Kubernetes chunks; not together with page and size. */
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'NotOlderThan' | 'Exact';
}

export interface WatchOptions extends NamespaceOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The watch shows changes after this revision. When absent, the present objects come first, as ADDED. */
  readonly resourceVersion?: string;
  readonly allowBookmarks?: boolean;
  /** The present objects come first, and end with a bookmark annotated `k8s.io/initial-events-end`. */
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
  /** `status`: touch status only. */
  readonly subresource?: 'status';
  /** Rejects with Conflict unless the stored object has this uid and resourceVersion. Default none. */
  readonly preconditions?: Preconditions;
}

export interface ApplyOptions extends WriteOptions {
  /**
   * The owner of the applied fields: a field that it applied before and does not apply now is removed. The name of the
   * field manager: at most 128 printable characters.
   */
  readonly fieldManager: string;
  /** Take fields that others own, and that should have another value, instead of rejecting with Conflict. */
  readonly force?: boolean;
  /** `status`: apply status only. */
  readonly subresource?: 'status';
}

/** The fields that a manager wants to own, and the name of their object. */
export type AppliedObject<T extends ApiObject> = DeepPartial<Omit<T, 'apiVersion' | 'kind' | 'metadata'>> & {
  readonly metadata: Partial<ApiObject['metadata']> & { readonly name: string };
};

/**
 * The API as a program sees it. Two implementations, in process and over HTTP; they behave alike. Every verb rejects
 * with ApiError. Objects that are handed out are deeply frozen. `update` and `updateStatus` find the model by the
 * object's apiVersion and kind.
 */
export interface Client {
  get<T extends ApiObject>(model: Model<T>, name: string, options?: GetOptions): Promise<T>;
  list<T extends ApiObject>(model: Model<T>, options?: ListOptions): Promise<ObjectList<T>>;
  create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options?: WriteOptions): Promise<T>;
  /** Replaces the object; metadata.resourceVersion (or version) in it is a precondition. 404 when absent. */
  update<T extends ApiObject>(object: T, options?: WriteOptions): Promise<T>;
  /** Replaces status only; the object's uid and resourceVersion are preconditions when they are there. */
  updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options?: WriteOptions): Promise<T>;
  patch<T extends ApiObject>(model: Model<T>, name: string, patch: Patch, options?: PatchOptions): Promise<T>;
  /**
   * Server-side apply: the object has these fields afterwards, and is created when it is absent. Fields that this
   * manager applied before and now leaves out are removed, unless others own them. A field of another manager that
   * should have another value is a Conflict with a cause for each.
   */
  apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T>;
  /**
   * Resolves with the object when finalizers keep it, and with undefined when it is gone, or cannot be shown in the
   * model's version.
   */
  delete<T extends ApiObject>(model: Model<T>, name: string, options?: DeleteOptions): Promise<T | undefined>;
  /**
   * Creates the object, or merges `desired` into it (RFC 7396); writes nothing when that changes nothing.
   * A conflict or a lost race with another creator is tried again.
   */
  ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * Changes from a revision on, each once, in order. Ends when the signal aborts. A connection that is lost or ended by
   * the server is resumed; history that is gone rejects the iteration with Expired.
   */
  watch<T extends ApiObject>(model: Model<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /**
   * An informer of a kind, with handlers and indexes of its own; it holds nothing before it is run. Informers with the same
   * options share one cache while they are run. Throws BadRequest for an invalid selection.
   */
  informer<T extends ApiObject>(
    model: Model<T>,
    options: InformerOptions & { readonly metadataOnly: true },
  ): Informer<ApiObject>;
  informer<T extends ApiObject>(model: Model<T>, options?: InformerOptions<T>): Informer<T>;
}

/**
 * The type of an object's status: `never` for a kind that has none, `unknown` for objects of unknown type.
 */
export type StatusOf<T extends ApiObject> = DeclaredStatus<{ readonly [K in keyof T]: T[K] }>;

// A mapped type, so that TypeScript 5.9 accepts a controller of one kind as a controller of any kind: it then
// compares the arguments of `status`. With a condition on T itself it would compare T.
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
 * A patch that is merged into a value (RFC 7396): any of its fields; null removes an optional field. Lists are replaced
 * as a whole.
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
