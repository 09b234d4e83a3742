import type { ApiObject, Clock, Condition, Logger, Model, ObjectKey } from '../../api/index.ts';
import type { Client, Desired, MergePatch, StatusOf } from '../../client/client.ts';
import type { EventRecorder, EventType } from '../../events/event-recorder.ts';
import type { Reason } from '../../queue/reason.ts';
import type { Once } from './external-effects.ts';
import type { Duration } from './parse-duration.ts';
import type { OwnOptions, OwnResult, Wish } from './wish.ts';

/**
 * When the object runs again. Without a result, when something changes; with `after` (or `requeueAfter`), after that
 * time as well; with `requeue`, after the key's back-off. All but `requeue` forget the key's failures.
 */
export type ReconcileResult =
  { readonly after: Duration } | { readonly requeue?: boolean; readonly requeueAfter?: Duration } | void;

/** The values that every run gets. */
export interface ReconcileRequest {
  readonly key: ObjectKey;
  readonly name: string;
  /** Undefined for Cluster-scoped kinds. */
  readonly namespace: string | undefined;
  /** Bound to the run: its requests end with the run, and the next run sees its writes. */
  readonly client: Client;
  /**
   * Aborts as soon as the controller stops, and when the run outlasts its timeout. After a stop, `client` works until
   * the grace is over, so that the run can store its progress.
   */
  readonly signal: AbortSignal;
  /** The controller's clock; a test moves it. */
  readonly clock: Clock;
  /** The time by `clock` when it is read: RFC 3339 in UTC, whole seconds. */
  readonly now: string;
  /**
   * The slot of the controller's `schedule` for which this run is: RFC 3339 in UTC. The same in each run of the slot,
   * so that an effect with a name made of it happens once. Undefined for other runs.
   */
  readonly scheduled: string | undefined;
  /** The reasons why the key was enqueued; at most eight. */
  readonly reasons: readonly Reason[];
  /** Adds controller, key and reconcileID to each line. */
  readonly logger: Logger;
  /** Records what happens to objects, for people; its events have the reconcileID. */
  readonly recorder: EventRecorder;
  /** Id of this run alone; a random UUID. */
  readonly reconcileID: string;
}

/** Records events of the run's object. */
export interface ObjectEvents {
  /** {@link EventRecorder.event} of this object. */
  (type: EventType, reason: string, message: string): void;
  /**
   * Records an event with the reason and message of a condition, if the status of the condition changes when this run
   * writes it. Throws TypeError when the run has not stated the condition.
   */
  onTransition(this: void, type: EventType, conditionType: string): void;
}

/** The reason why a condition has its status. */
export interface ConditionReason {
  /** The reason for programs: one CamelCase word. */
  readonly reason: string;
  /** The text for people. Default empty. */
  readonly message?: string;
}

/** States conditions of the run's object. */
export interface StateCondition {
  /**
   * States a condition in `status.conditions`. It is written with the next `status()`, or at the end of the run, also when
   * the run throws; all conditions of a run in one write. `lastTransitionTime` changes only when the status does;
   * `observedGeneration` is the generation of `object`. Throws TypeError for a reason that is not one CamelCase word, and
   * when the schema of the status has no `conditions` (see `conditionsSchema`).
   */
  (type: string, status: Condition['status'], reason: ConditionReason): void;
  /**
   * States a condition that summarizes the conditions `of`. It is True when all of them are True. Otherwise it is
   * like the first that is False, or, without one, like the first that is Unknown or absent. It is computed when it
   * is written.
   */
  summary(this: void, type: string, of: readonly string[]): void;
}

/** The context of a run of a `reconcile` or `cleanup` function: the object, and verbs for it. */
export interface ReconcileContext<T extends ApiObject = ApiObject> extends ReconcileRequest {
  /** A string for Namespaced models; undefined for Cluster-scoped ones. */
  readonly namespace: T['metadata']['namespace'];
  /** The object from the cache: frozen and shared, and never older than the last write of this controller. */
  readonly object: T;
  readonly event: ObjectEvents;
  readonly condition: StateCondition;
  readonly once: Once;
  /**
   * Returns the objects of an owned kind whose controller owner is this object, by uid, sorted by key. From the cache,
   * without a request, and never older than what this controller wrote. Throws TypeError when `owns` does not list the kind.
   */
  children<O extends ApiObject>(this: void, model: Model<O>): readonly O[];
  /**
   * Returns the objects of a followed kind that have `value` under an index that the model declares, sorted by key. From the
   * cache, like `children`. Throws TypeError when the controller does not follow the kind, RangeError for an unknown index.
   */
  related<O extends ApiObject>(this: void, model: Model<O>, index: string, value: string): readonly O[];
  /**
   * Creates a dependent, or merges `desired` into it (RFC 7396), and makes this object its controller owner. A name
   * alone is taken in this object's namespace. Writes nothing when nothing differs; a lost race is tried again.
   * Rejects when another object controls it.
   */
  ensure<O extends ApiObject>(this: void, model: Model<O>, key: string | ObjectKey, desired: Desired<O>): Promise<O>;
  /**
   * Makes the dependents of this object equal to the wishes, by server-side apply: creates and changes them in the
   * order of `after`, and deletes those of the owned kinds that an earlier run wished and this one does not, in the
   * reverse order. Objects that others made are neither changed nor deleted. Call it once a run, with all wishes.
   * Sends no request when nothing changes. Rejects for an object of a wished name that this object does not control,
   * and with TypeError for wishes that contradict each other.
   */
  own<const W extends readonly Wish[]>(this: void, wishes: W, options?: OwnOptions): Promise<OwnResult<W>>;
  /**
   * Merges into the object's status (RFC 7396: null removes) and returns the object as it then is. Adds
   * `observedGeneration` when the status schema has it. Writes nothing when nothing differs. The uid is a
   * precondition: for a new object of the same name it rejects with Conflict. Rejects with TypeError when the model's
   * schema has no status.
   */
  status(this: void, partial: MergePatch<StatusOf<T>>): Promise<T>;
}

/**
 * Moves the actual state toward the wanted state of the object. May be called at any time, any number of times, and never
 * twice at once for one object. After an error, the object runs again with a back-off of 5 ms, doubled up to 1000 s. After
 * `throw terminal(…)` it runs again only when something changes. After an uncaught Conflict it runs again as soon as the
 * cache has passed the conflicting revision.
 */
export type ReconcileFunction<T extends ApiObject = ApiObject> = {
  reconcile(context: ReconcileContext<T>): ReconcileResult | Promise<ReconcileResult>;
}['reconcile'];

/**
 * The class form: it is also called for objects that are absent or being deleted, and it handles finalizers itself.
 * Same rules as {@link ReconcileFunction}.
 */
export interface Reconciler {
  reconcile(request: ReconcileRequest): ReconcileResult | Promise<ReconcileResult>;
}
