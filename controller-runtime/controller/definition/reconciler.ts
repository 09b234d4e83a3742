import type { ApiObject, Logger, Model, ObjectKey } from '../../api/index.ts';
import type { Client, DeepPartial, Desired, StatusOf } from '../../client/client.ts';
import type { EventRecorder, EventType } from '../../events/event-recorder.ts';
import type { Reason } from '../../queue/reason.ts';
import type { Duration } from './parse-duration.ts';

/**
 * What a run asks for next. Nothing: done until something changes. `after` (or `requeueAfter`): done, and again after
 * that time. `requeue`: again after the key's back-off. All but `requeue` forget the key's failures.
 */
export type ReconcileResult =
  { readonly after: Duration } | { readonly requeue?: boolean; readonly requeueAfter?: Duration } | void;

/** What every run is given. */
export interface ReconcileRequest {
  readonly key: ObjectKey;
  readonly name: string;
  /** Absent for Cluster-scoped kinds. */
  readonly namespace?: string;
  /** Bound to the run: its requests end with the run, and the next run sees its writes. */
  readonly client: Client;
  /** Aborts when the run outlasts its timeout, and when the grace of a stop is over. */
  readonly signal: AbortSignal;
  /** Why the key was enqueued; at most eight. */
  readonly reasons: readonly Reason[];
  /** Adds controller, key and reconcileID to each line. */
  readonly logger: Logger;
  /** Records what happens to objects, for people; its events bear the reconcileID. */
  readonly recorder: EventRecorder;
  /** Id of this run alone; a random UUID. */
  readonly reconcileID: string;
}

/** The context of a run of a `reconcile` or `cleanup` function: the object, and verbs for it. */
export interface ReconcileContext<T extends ApiObject = ApiObject> extends ReconcileRequest {
  /** From the cache: frozen and shared. Never older than what this controller wrote. */
  readonly object: T;
  /** {@link EventRecorder.event} of this object. */
  event(this: void, type: EventType, reason: string, message: string): void;
  /**
   * Creates a dependent, or merges `desired` into it (RFC 7396), and makes this object its controller owner. A name
   * alone is taken in this object's namespace. Writes nothing when nothing differs; a lost race is tried again.
   * Rejects when another object controls it.
   */
  ensure<O extends ApiObject>(this: void, model: Model<O>, key: string | ObjectKey, desired: Desired<O>): Promise<O>;
  /**
   * Merges into the object's status (RFC 7396: null removes) and returns the object as it then is. Adds
   * `observedGeneration` when the status schema has it. Writes nothing when nothing differs. The uid is a
   * precondition: a namesake made meanwhile is Conflict. Rejects with TypeError when the model's schema has no status.
   */
  status(this: void, partial: DeepPartial<StatusOf<T>>): Promise<T>;
}

/**
 * Brings the world nearer to what the object wants. May be called at any time, any number of times, and never twice
 * at once for one object. Throwing means back-off: 5 ms, doubling, up to 1000 s; `throw terminal(…)` no retry before
 * a change; an uncaught Conflict another run as soon as the cache has passed the conflicting revision.
 */
export type ReconcileFunction<T extends ApiObject = ApiObject> = {
  reconcile(context: ReconcileContext<T>): ReconcileResult | Promise<ReconcileResult>;
}['reconcile'];

/**
 * The class form: called for absent and for deleting objects too, and looks after finalizers itself.
 * Same rules as {@link ReconcileFunction}.
 */
export interface Reconciler {
  reconcile(request: ReconcileRequest): ReconcileResult | Promise<ReconcileResult>;
}
