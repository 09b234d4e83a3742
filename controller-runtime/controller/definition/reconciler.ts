import type { ApiObject, Clock, Condition, Logger, Model, ObjectKey } from '../../api/index.ts';
import type { Client, Desired, MergePatch, StatusOf } from '../../client/client.ts';
import type { EventRecorder, EventType } from '../../events/event-recorder.ts';
import type { Reason } from '../../queue/reason.ts';
import type { Once } from './external-effects.ts';
import type { Duration } from './parse-duration.ts';
import type { OwnOptions, OwnResult, Wish } from './wish.ts';

/**
 * The result of a run, which decides when the object is reconciled again. Without a result, the object is reconciled
 * when something changes. With `after` (or `requeueAfter`), it is also reconciled after that time; with `requeue`,
 * after the key's back-off. After every result except `requeue`, earlier failures of the key no longer count.
 */
export type ReconcileResult =
  { readonly after: Duration } | { readonly requeue?: boolean; readonly requeueAfter?: Duration } | void;

/** The values that every run gets. */
export interface ReconcileRequest {
  readonly key: ObjectKey;
  readonly name: string;
  /** The namespace of the object; undefined for Cluster-scoped kinds. */
  readonly namespace: string | undefined;
  /**
   * The client of the run. The client refuses requests after the end of the run. Pending requests without a signal of
   * their own are aborted at the timeout of the run, and at the end of the grace period of a stop. The next run of the
   * key reads a cache that contains the writes of this run.
   */
  readonly client: Client;
  /**
   * Aborts as soon as the controller stops, and when the run exceeds its timeout. After a stop, `client` can be used
   * until the grace period is over, so that the run can store its progress.
   */
  readonly signal: AbortSignal;
  /** The controller's clock, whose time a test can set. */
  readonly clock: Clock;
  /** The current time of `clock`, in whole seconds in UTC (RFC 3339), at the moment when this property is read. */
  readonly now: string;
  /**
   * The slot of the controller's `schedule` for which the object is reconciled, in UTC (RFC 3339). The time is the same
   * in each run for the slot, so that `once` with a name that contains this time causes one effect for each slot.
   * Undefined for runs without a slot.
   */
  readonly scheduled: string | undefined;
  /** The reasons why the key was enqueued; at most eight. */
  readonly reasons: readonly Reason[];
  /** A logger that adds the controller, the key and the reconcileID to each line. */
  readonly logger: Logger;
  /** Records events about objects, for people; the events have the reconcileID. */
  readonly recorder: EventRecorder;
  /** The id of this run: a random UUID. */
  readonly reconcileID: string;
}

/** Records events of the run's object. */
export interface ObjectEvents {
  /** Records an event of the run's object, like {@link EventRecorder.event}. */
  (type: EventType, reason: string, message: string): void;
  /**
   * Records an event with the reason and message of a condition, if the status of the condition changes when this run
   * writes it. Throws TypeError when the run has not set the condition before this call.
   */
  onTransition(this: void, type: EventType, conditionType: string): void;
}

/** The reason why a condition has its status. */
export interface ConditionReason {
  /** The reason in one CamelCase word, for programs. */
  readonly reason: string;
  /** A text for people that explains why the condition has its status. Default: empty. */
  readonly message?: string;
}

/** Sets conditions of the run's object. */
export interface StateCondition {
  /**
   * Sets a condition in `status.conditions`. The next call of `status()` writes all conditions that were set before it.
   * Conditions that are set after the last such call are written together at the end of the run, even when the run
   * throws. `lastTransitionTime` changes only when the status of the condition changes; `observedGeneration` is the
   * generation of `object`. Throws TypeError for an unknown status, for a reason that is not one CamelCase word, and
   * when the schema of the status has no `conditions` (see `conditionsSchema`).
   */
  (type: string, status: Condition['status'], reason: ConditionReason): void;
  /**
   * Sets a condition that summarizes the conditions in `of`: True when all of them are True, False when any of them is
   * False, and otherwise Unknown. A summary that is not True has the reason of the first condition that is False, or
   * else of the first one that is Unknown or absent. Set the conditions in `of` first, because the summary does not see
   * conditions that the run sets after it. Throws TypeError when `of` is empty.
   */
  summary(this: void, type: string, of: readonly string[]): void;
}

/** The context of a run of a `reconcile` or `cleanup` function: the object, and functions that act on it. */
export interface ReconcileContext<T extends ApiObject = ApiObject> extends ReconcileRequest {
  /** The namespace: a string for Namespaced models, undefined for Cluster-scoped ones. */
  readonly namespace: T['metadata']['namespace'];
  /** The object from the cache: frozen and shared, and never older than the last write of this controller. */
  readonly object: T;
  readonly event: ObjectEvents;
  readonly condition: StateCondition;
  readonly once: Once;
  /**
   * Returns the objects of an owned kind whose controller owner has the uid of this object, sorted by key. The objects
   * come from the cache, without a request, and are never older than the last writes of this controller. Throws
   * TypeError when `owns` does not list the kind, or the cache keeps only some fields of each object.
   */
  children<O extends ApiObject>(this: void, model: Model<O>): readonly O[];
  /**
   * Returns the objects of a followed kind that have `value` under an index that the model declares, sorted by key.
   * They come from the cache, like the result of `children`. Throws TypeError when the controller does not follow the
   * kind, or does not list the index in `indexes`, or its cache keeps only some fields of each object; RangeError when
   * the model does not declare the index.
   */
  related<O extends ApiObject>(this: void, model: Model<O>, index: string, value: string): readonly O[];
  /**
   * Creates a dependent, or merges `desired` into it (RFC 7396), and makes this object its controller owner. If `key`
   * is only a name, the dependent is in this object's namespace. Writes nothing when the dependent already has all
   * desired values, and tries again when another client writes in between. Rejects when another object controls the
   * dependent.
   */
  ensure<O extends ApiObject>(this: void, model: Model<O>, key: string | ObjectKey, desired: Desired<O>): Promise<O>;
  /**
   * Makes the dependents of this object equal to the wishes. It creates and changes them by server-side apply, in the
   * order of `after`. It deletes dependents of the owned kinds, in the reverse order, that were among the wishes of an
   * earlier run but are not among those of this run. It never deletes an object to which this controller has applied no
   * fields. Call it once in a run, with all wishes. It sends no request for a dependent that already has exactly the
   * wished values. Rejects when this object is not the controller owner of an existing object with a wished name,
   * unless the existing object has no controller owner and the wish has the option `adopt`. Rejects with TypeError for
   * wishes that contradict each other.
   */
  own<const W extends readonly Wish[]>(this: void, wishes: W, options?: OwnOptions): Promise<OwnResult<W>>;
  /**
   * Merges `partial` into the object's status (RFC 7396: null removes a field), and returns the resulting object. Adds
   * `observedGeneration` when the schema of the status has it. Writes nothing when the status already has these values.
   * The uid is a precondition: when a new object of the same name exists, the call rejects with Conflict. If the run
   * has set conditions, the revision is a precondition, too. Rejects with TypeError when the model's schema has no
   * status.
   */
  status(this: void, partial: MergePatch<StatusOf<T>>): Promise<T>;
}

/**
 * A function that changes the actual state toward the wanted state of the object. It may be called at any time and any
 * number of times, but never twice at once for one object. After an error, the object is reconciled again after a
 * back-off: by default 5 ms, doubled by each further error up to 1000 s. After `throw terminal(…)`, it is reconciled
 * again only when something changes, or at the next slot of its schedule. After an uncaught Conflict of a write, it is
 * reconciled again as soon as the cache has a later revision of the written object than the write's precondition, at
 * the latest after 10 s. There is nothing to wait for if the cache already has a later revision, or if the controller
 * does not follow the kind of the written object. The object is then reconciled again after its back-off if, since its
 * last success, another run has failed, requested a requeue or had such a conflict; otherwise at once.
 */
export type ReconcileFunction<T extends ApiObject = ApiObject> = {
  reconcile(context: ReconcileContext<T>): ReconcileResult | Promise<ReconcileResult>;
}['reconcile'];

/**
 * The class form of a reconciler. It is also called for objects that are absent or being deleted, and handles
 * finalizers itself. The other rules of {@link ReconcileFunction} apply, too.
 */
export interface Reconciler {
  reconcile(request: ReconcileRequest): ReconcileResult | Promise<ReconcileResult>;
}
