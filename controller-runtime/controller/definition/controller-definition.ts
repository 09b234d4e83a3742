import { descriptorOf, unknownKeyOf, type ApiObject, type Model, type ModelDescriptor } from '../../api/index.ts';
import { checkBackoff, type BackoffOptions } from '../../queue/backoff.ts';
import { checkIndexes, owned, type OwnedSource, type WatchSource } from './followed-kind.ts';
import type { Schedule } from './cron-schedule.ts';
import type { KeySource } from './key-source.ts';
import { durationOption, type Duration } from './parse-duration.ts';
import type { Predicate } from './predicates.ts';
import type { ReconcileContext, ReconcileFunction, Reconciler } from './reconciler.ts';
import { timingOf, type PerObject, type Timing } from './timing.ts';

export interface ControllerOptions<T extends ApiObject = ApiObject> {
  /**
   * The name, which is unique within a manager and a part of the finalizer: lowercase letters, digits and hyphens.
   * Default: the kind in lower case.
   */
  readonly name?: string;
  /**
   * Kinds whose objects this controller creates; {@link owned} adds options to a kind. A change of such an object
   * enqueues the key of its controller owner.
   */
  readonly owns?: readonly (Model | OwnedSource)[];
  readonly watches?: readonly WatchSource[];
  /**
   * The names of indexes of the controller's own kind that `related` reads. The model has to declare these indexes.
   * Default: none.
   */
  readonly indexes?: readonly string[];
  /** Other sources of keys, such as an EventEmitter, an iteration or a poll. They are made by `source` and `poll`. */
  readonly sources?: readonly KeySource[];
  /** Every object is reconciled again at this interval, with a lower priority than changes. Default: never. */
  readonly resync?: Duration;
  /**
   * The interval after which each object is reconciled again. The interval starts at the end of the last run that
   * succeeded. If that run returned `after`, the value of `after` is used instead. The option may also be a function
   * that returns the interval of an object, or undefined for none; the result must depend only on the object. The
   * interval is kept only in memory. Default: never.
   */
  readonly every?: PerObject<T, Duration>;
  /**
   * Each object is reconciled at the times of a calendar, which are called slots. In the run of a slot, `scheduled` is
   * the time of the slot. The option may also be a function that returns the schedule of an object, or undefined for
   * none; the result must depend only on the object. A slot has ended when its run returns without a request for
   * `requeue`, or throws `terminal(…)`. A slot that has ended never runs again. If the run of a slot failed or was cut
   * short, another run with the same `scheduled` follows, even after a change of the schedule. Apart from that, a new
   * object or a changed schedule begins with the next slot: slots in the past do not run. The state of the schedule is
   * stored in annotations of the object. Default: none.
   */
  readonly schedule?: PerObject<T, Schedule>;
  /**
   * The maximum number of runs at the same time, all of different keys. Default 4, because runs mostly wait for writes,
   * and waiting writes commit together.
   */
  readonly concurrency?: number;
  /**
   * Divides the keys into this many shards, 1 to 256, which several processes share. Each shard has a Lease of its own,
   * and may move to another process when processes start or stop. Use more shards than processes, so that all processes
   * have about the same amount of work: 16 shards are enough for five processes. All processes must use the same number
   * of shards. A manager without `leaderElection` reconciles all keys. Default: the leader reconciles all keys.
   */
  readonly shards?: number;
  /**
   * The time after which the signal of a run aborts, and the run counts as failed. Default 2 minutes. There is always a
   * timeout, so that no run waits forever.
   */
  readonly timeoutMs?: Duration;
  /** The delays of a failing key. Default: 5 ms, doubled by each failure of the key, up to 1000 s. */
  readonly backoff?: BackoffOptions;
  /**
   * The number of retries after which a failing key is parked until something changes. Default: no limit, so that the
   * key is retried again and again, in the end every 1000 s.
   */
  readonly retryLimit?: number;
  /**
   * The updates of the controller's own kind that cause runs: those for which all predicates are true. Default: changes
   * of the spec, labels, annotations and finalizers, and of a status that another client wrote. The controller's writes
   * of the finalizer for `cleanup` and of a schedule's annotations cause no runs. Additions, resyncs, deletions, the
   * start of a deletion, and a user's request to run, pause or resume the object always cause runs.
   */
  readonly predicates?: readonly Predicate<T>[];
  /**
   * The number of runs of a key in a minute above which a warning is logged. This limit applies while the spec of the
   * object stays unchanged; if the spec changes, the limit is ten times this number. Default 100.
   */
  readonly hotLoopRunsPerMinute?: number;
  readonly reconcile: ReconcileFunction<T> | Reconciler;
  /**
   * The function that is called in place of `reconcile` when the object is being deleted. With `cleanup`, each object
   * gets the finalizer `<group of the kind>/<name of the controller>` before its first reconcile. For a kind of the
   * core group, the finalizer is only the name of the controller. The finalizer is removed when `cleanup` succeeds
   * without a request for another run. `cleanup` may be called again after it succeeded. `cleanup` cannot be used
   * together with the class form.
   */
  readonly cleanup?: ReconcileFunction<T>;
}

/** The frozen declaration of a controller, which does nothing until a manager runs it. */
export interface ControllerDefinition<T extends ApiObject = ApiObject> {
  readonly name: string;
  readonly model: ModelDescriptor<T>;
  readonly owns: readonly OwnedSource[];
  readonly indexes: readonly string[];
  readonly watches: readonly WatchSource[];
  readonly sources: readonly KeySource[];
  /** The interval of the resync in milliseconds; Infinity when there is none. */
  readonly resyncMs: number;
  /** The times that `every` and `schedule` declare; undefined when neither is given. */
  readonly timing: Timing | undefined;
  readonly concurrency: number;
  /** The number of shards; undefined when the controller is not sharded. */
  readonly shards: number | undefined;
  readonly timeoutMs: number;
  readonly backoff: BackoffOptions;
  readonly retryLimit: number;
  readonly predicates: readonly Predicate<T>[] | undefined;
  readonly hotLoopRunsPerMinute: number;
  readonly finalizer: string;
  readonly reconcile: ReconcileFunction<T> | Reconciler;
  readonly cleanup: ReconcileFunction<T> | undefined;
}

/**
 * Declares a controller of a kind. Throws TypeError or RangeError for an invalid option; the error names the option or
 * the invalid value.
 */
export function controller<T extends ApiObject>(
  model: Model<T>,
  options: ControllerOptions<T>,
): ControllerDefinition<T> {
  const descriptor = descriptorOf(model);
  const { name = descriptor.kind.toLowerCase(), owns = [], watches = [], sources = [], predicates, cleanup } = options;
  const { concurrency = 4, timeoutMs = 120_000, hotLoopRunsPerMinute = 100 } = options;
  const { backoff = {}, retryLimit = Infinity, indexes = [], shards } = options;
  checkName(name);
  const deadlineMs = durationOption(`controller "${name}": timeoutMs`, timeoutMs);
  checkKeys(name, options);
  checkCount(name, { concurrency }, 1);
  checkShards(name, shards);
  if (retryLimit !== Infinity) checkCount(name, { retryLimit }, 0);
  checkCount(name, { hotLoopRunsPerMinute }, 1);
  checkFunctions(name, options);
  checkIndexes(descriptor, indexes);
  checkBackoff(backoff);
  checkSources(name, sources);
  checkListening(name, watches, predicates);
  if (deadlineMs === 0) throw new RangeError(`controller "${name}": timeoutMs must be above 0`);
  return Object.freeze({
    name,
    model: descriptor,
    owns: Object.freeze(owns.map((each) => ('follows' in each ? each : owned(each)))),
    indexes: Object.freeze([...indexes]),
    watches: Object.freeze([...watches]),
    sources: Object.freeze([...sources]),
    resyncMs: resyncMsOf(name, options),
    timing: timingOf(name, options),
    concurrency,
    shards,
    timeoutMs: deadlineMs,
    backoff: Object.freeze({ ...backoff }),
    retryLimit,
    predicates: predicates === undefined ? undefined : Object.freeze([...predicates]),
    hotLoopRunsPerMinute,
    finalizer: descriptor.group === '' ? name : `${descriptor.group}/${name}`,
    reconcile: bound(options),
    cleanup: cleanup === undefined ? undefined : (context: ReconcileContext<T>) => cleanup.call(options, context),
  });
}

/**
 * Returns the kinds that a controller follows. A kind that occurs several times in the definition occurs several times
 * in the result.
 */
export function followedModels({ model, owns, watches }: ControllerDefinition): readonly ModelDescriptor[] {
  return [model, ...owns.map((each) => each.model), ...watches.map((watched) => watched.model)];
}

/** Binds `reconcile` to the options object, because it may be a method of that object. */
function bound<T extends ApiObject>(options: ControllerOptions<T>): ReconcileFunction<T> | Reconciler {
  const { reconcile } = options;
  if (typeof reconcile !== 'function') return reconcile;
  return (context: ReconcileContext<T>) => reconcile.call(options, context);
}

const optionKeys: readonly string[] = [
  'name',
  'owns',
  'watches',
  'indexes',
  'sources',
  'resync',
  'every',
  'schedule',
  'concurrency',
  'shards',
  'timeoutMs',
  'backoff',
  'retryLimit',
  'predicates',
  'hotLoopRunsPerMinute',
  'reconcile',
  'cleanup',
] satisfies readonly (keyof ControllerOptions)[];

/** Refuses unknown options. An instance of a class is not checked, because it may have fields that its methods use. */
function checkKeys(name: string, options: object): void {
  const unknown = Object.getPrototypeOf(options) === Object.prototype ? unknownKeyOf(options, optionKeys) : undefined;
  if (unknown !== undefined) throw new TypeError(`controller "${name}": ${unknown}`);
}

function checkSources(name: string, sources: readonly KeySource[]): void {
  for (const [index, each] of sources.entries()) {
    if (typeof each?.name === 'string' && typeof each.keys === 'function') continue;
    throw new TypeError(`controller "${name}": sources[${index}] must be made by source(name, keys) or poll`);
  }
}

/**
 * Checks `watches` and `predicates`. A mistake in them that is found only at run time would stop every controller of
 * the manager.
 */
function checkListening(
  name: string,
  watches: readonly WatchSource[],
  predicates: readonly unknown[] | undefined = [],
): void {
  for (const [index, each] of watches.entries()) {
    if (typeof each?.model === 'object' && typeof each.map === 'function') continue;
    throw new TypeError(`controller "${name}": watches[${index}] must be made by on(model, map)`);
  }
  for (const [index, each] of predicates.entries()) {
    if (typeof each !== 'function') throw new TypeError(`controller "${name}": predicates[${index}] is not a function`);
  }
}

function resyncMsOf(name: string, { resync }: Pick<ControllerOptions, 'resync'>): number {
  if (resync === undefined) return Infinity;
  const resyncMs = durationOption(`controller "${name}": resync`, resync);
  if (resyncMs > 0) return resyncMs;
  throw new RangeError(`controller "${name}": resync must be above 0`);
}

function checkName(name: string): void {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return;
  throw new RangeError(
    `controller name "${name}": must be at most 63 lowercase letters, digits and hyphens, alphanumeric at both ends`,
  );
}

function checkCount(name: string, options: Readonly<Record<string, number>>, least: number): void {
  for (const [option, value] of Object.entries(options)) {
    if (Number.isSafeInteger(value) && value >= least) continue;
    throw new RangeError(`controller "${name}": ${option} must be a whole number >= ${least}, not ${value}`);
  }
}

/**
 * The maximum number of shards. For each shard, the process that holds it makes one write in each retry period of the
 * election.
 */
const maxShards = 256;

function checkShards(name: string, shards: number | undefined): void {
  if (shards === undefined || (Number.isInteger(shards) && shards >= 1 && shards <= maxShards)) return;
  throw new RangeError(
    `controller "${name}": shards must be a whole number from 1 to ${maxShards}, not ${JSON.stringify(shards)}`,
  );
}

function checkFunctions(name: string, { reconcile, cleanup }: ControllerOptions): void {
  const isClassForm = typeof reconcile === 'object' && typeof reconcile?.reconcile === 'function';
  if (!isClassForm && typeof reconcile !== 'function') {
    throw new TypeError(`controller "${name}": reconcile must be a function, or an object with a method "reconcile"`);
  }
  if (cleanup === undefined) return;
  if (isClassForm) {
    throw new TypeError(
      `controller "${name}": cleanup needs a reconcile function; a Reconciler handles its finalizers itself`,
    );
  }
  if (typeof cleanup !== 'function') throw new TypeError(`controller "${name}": cleanup must be a function`);
}
