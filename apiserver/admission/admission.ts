import type { Client } from '@homeostat/controller-runtime';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';

/** The same, to be changed in place. */
export type Draft<T> = T extends object ? { -readonly [K in keyof T]: Draft<T[K]> } : T;

/** What every hook gets. */
export interface AdmissionCall {
  /** Nothing will be stored, and the hook must have no effects of its own. */
  readonly dryRun: boolean;
  /** The plugin's. A write to the very object that is being admitted waits for this hook, and so for its deadline. */
  readonly client: Client;
  /** Aborts at the deadline, and when the plugin stops. */
  readonly signal: AbortSignal;
  /** Adds a `Warning` to the answer. */
  warn(message: string): void;
}

export interface CreateAdmission<T extends ApiObject = ApiObject> extends AdmissionCall {
  /**
   * With its name and the defaults of the schema, which has not judged it yet: what is required may be missing, and types
   * may be wrong.
   */
  readonly object: Draft<T>;
}

export interface UpdateAdmission<T extends ApiObject = ApiObject> extends AdmissionCall {
  /** The next state, as in {@link CreateAdmission}. */
  readonly object: Draft<T>;
  /** The stored state. Frozen. */
  readonly old: T;
  /** The path that is written. A `status` write keeps only `status` of the object that the hook returns. */
  readonly subresource?: 'status' | 'scale';
}

export interface DeleteAdmission<T extends ApiObject = ApiObject> extends AdmissionCall {
  /** The stored object. Frozen. */
  readonly object: T;
}

/**
 * A plugin's say in the writes of a kind. `onCreate` and `onUpdate` may change the object in place, or answer another; of
 * metadata labels, annotations, finalizers and owners are theirs, and the rest stays as it was. Then defaults, pruning,
 * schema and the model's `validate` have their turn. A hook refuses a write by throwing `invalid(…)` (422), or an ApiError
 * BadRequest, Forbidden, Invalid, ServiceUnavailable or TooManyRequests. Whatever else it throws is a bug of its own: 500,
 * logged with the plugin, and nothing is stored. May be called more than once for one write.
 */
export interface AdmissionHooks<T extends ApiObject = ApiObject> {
  onCreate?(call: CreateAdmission<T>): Draft<T> | T | void | Promise<Draft<T> | T | void>;
  /** Every update, patch, apply and status write of an object that is there, also one that changes nothing. */
  onUpdate?(call: UpdateAdmission<T>): Draft<T> | T | void | Promise<Draft<T> | T | void>;
  /** Every request to delete an object; not its end when the last finalizer goes, which is an update. */
  onDelete?(call: DeleteAdmission<T>): void | Promise<void>;
}

export interface AdmissionOptions {
  /** How long one call of a hook may take; then the write fails (504). In milliseconds, 1 to 30,000. Default 10,000. */
  readonly timeoutMs?: number;
}

/** Hooks for a kind, in the version of the model that they were written for. */
export interface Admission<T extends ApiObject = ApiObject> extends AdmissionOptions {
  readonly model: ModelDescriptor<T>;
  readonly hooks: AdmissionHooks<T>;
}
