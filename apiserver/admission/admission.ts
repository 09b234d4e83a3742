import type { Client } from '@homeostat/controller-runtime';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';

/** The type `T` without `readonly`, so that a hook can change the object in place. */
export type Draft<T> = T extends object ? { -readonly [K in keyof T]: Draft<T[K]> } : T;

/** The part of a call that every hook receives. */
export interface AdmissionCall {
  /** True when nothing will be stored; the hook must then have no side effects. */
  readonly dryRun: boolean;
  /**
   * The plugin's client. A hook must not use it to write the object that is being admitted: that write would wait for
   * the hook, until the deadline.
   */
  readonly client: Client;
  /** A signal that aborts at the deadline, and when the plugin stops. */
  readonly signal: AbortSignal;
  /** Adds a `Warning` header to the response. */
  warn(message: string): void;
}

export interface CreateAdmission<T extends ApiObject = ApiObject> extends AdmissionCall {
  /**
   * The new object, with its name and the defaults of the schema. It is not validated yet: required fields may be
   * missing, and types may be wrong.
   */
  readonly object: Draft<T>;
}

export interface UpdateAdmission<T extends ApiObject = ApiObject> extends AdmissionCall {
  /**
   * The new object, as in {@link CreateAdmission}: with its name and the defaults of the schema, and not validated yet.
   */
  readonly object: Draft<T>;
  /** The stored state, a frozen object. */
  readonly old: T;
  /**
   * The subresource that is written; absent when the object itself is written. A `status` write keeps only `status` of
   * the object that the hook returns.
   */
  readonly subresource?: 'status' | 'scale';
}

export interface DeleteAdmission<T extends ApiObject = ApiObject> extends AdmissionCall {
  /** The stored object, which is frozen. */
  readonly object: T;
}

/**
 * Hooks with which a plugin changes or refuses writes of a kind. `onCreate` and `onUpdate` may change the object in
 * place or return another one. In metadata, they may change only labels, annotations, finalizers and owner references.
 * A hook that changes apiVersion, kind, name, namespace or uid has a bug; the server restores all other metadata.
 * Defaults, pruning, the schema and the model's `validate` run afterwards. A hook refuses a write by throwing
 * `invalid(…)` (422), or an ApiError BadRequest, Forbidden, Invalid, ServiceUnavailable or TooManyRequests. Any other
 * error is a bug of the hook: nothing is stored, the log names the plugin, and the client receives a 500. If the schema
 * or `validate` refuses the object even without the changes of this hook, the client receives that error instead of the
 * 500. A hook may be called more than once for one write.
 */
export interface AdmissionHooks<T extends ApiObject = ApiObject> {
  onCreate?(call: CreateAdmission<T>): Draft<T> | T | void | Promise<Draft<T> | T | void>;
  /**
   * Called for every update, patch and apply of an existing object or of its subresource, even when nothing changes.
   */
  onUpdate?(call: UpdateAdmission<T>): Draft<T> | T | void | Promise<Draft<T> | T | void>;
  /**
   * Called for every request to delete an object. It is not called when the server deletes an object because an update
   * has removed the last finalizer.
   */
  onDelete?(call: DeleteAdmission<T>): void | Promise<void>;
}

export interface AdmissionOptions {
  /**
   * The longest time that one call of a hook may take; after this time, the write fails (504). In milliseconds, 1 to
   * 30,000. Default 10,000.
   */
  readonly timeoutMs?: number;
}

/** The hooks for a kind, which receive its objects in the version of the given model. */
export interface Admission<T extends ApiObject = ApiObject> extends AdmissionOptions {
  readonly model: ModelDescriptor<T>;
  readonly hooks: AdmissionHooks<T>;
}
