import { defineModel } from '../define/define-model.ts';
import type { ModelDescriptor } from '../model/model.ts';
import type { ApiObject } from '../object/object.ts';

/** A key of a controller's queue. */
export interface ControllerKey {
  /** `name`, or `namespace/name`. */
  readonly key: string;
  /**
   * `paused`: an annotation of the object pauses the controller. `parked`: the key waits until its object or a related
   * object changes, a slot of the controller's schedule begins, or a run is requested. `delayed`: the key waits until
   * `nextTime`.
   */
  readonly state: 'processing' | 'parked' | 'delayed' | 'ready' | 'paused';
  /**
   * The number of consecutive runs that ended with a failure, a requeue or a conflict. Two results do not count:
   * terminal errors, which park the key, and conflicts after which the key waits only until the cache has the newer
   * state.
   */
  readonly attempts: number;
  /** The time at which the first of the runs counted in `attempts` ended; absent when `attempts` is 0. */
  readonly failingSince?: string;
  readonly nextTime?: string;
  /** The first 1,024 characters of the last error. */
  readonly lastError?: string;
  /** The types of the reasons why the key is in the queue. */
  readonly reasons?: readonly string[];
}

/** The median (`p50`) and the 99th percentile (`p99`) of the times of the last 512 runs, in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** The state of a controller, as the process that runs it last reported it. */
export interface ControllerReport {
  /** The time of the report. A busy controller reports at most every 2 s, and only when its state has changed. */
  readonly reportTime: string;
  /**
   * The process that runs the controller, as the lease identifies it; absent when the controller takes part in no
   * leader election.
   */
  readonly leader?: { readonly lease: string; readonly identity: string; readonly term: number };
  /** True while the controller runs; false when its process has stopped it. */
  readonly running: boolean;
  readonly queue: {
    readonly ready: number;
    readonly processing: number;
    readonly delayed: number;
    readonly parked: number;
    readonly paused: number;
    /** The number of keys whose `attempts` is above 0. */
    readonly failing: number;
  };
  /**
   * At most 200 keys of the queue: first those that are being reconciled, are parked or have failed; then up to 20 that
   * are ready or delayed; then paused ones.
   */
  readonly keys: readonly ControllerKey[];
  /** The number of keys of the queue that are not in `keys`. */
  readonly omittedKeys?: number;
  /** The number of runs since the controller started, for each result. */
  readonly runs: Readonly<Record<string, number>>;
  /** The numbers of runs and of failed runs per second, over the last minute. */
  readonly rates: { readonly runs: number; readonly errors: number };
  /** The times for which keys were ready before their runs began; absent before the first run. */
  readonly waitMs?: Percentiles;
  /** The durations of the runs; absent before the first run. */
  readonly durationMs?: Percentiles;
  /**
   * A message that names the keys of runs that have exceeded their timeout and have not ended. Present only while such
   * runs occupy all workers of the controller, so that it can reconcile no other key.
   */
  readonly problem?: string;
}

/**
 * An object that describes a controller: its definition and its state. The name of the object is
 * `<plugin>.<controller>`, or `<plugin>.<controller>.<index>` for a shard.
 */
export interface ControllerObject extends ApiObject {
  readonly spec: {
    /** `<plugin>/<controller>`, as in the `controller` of a run. */
    readonly controller: string;
    /** The kind of the objects that the controller reconciles. */
    readonly reconciles: { readonly apiVersion: string; readonly kind: string };
    /** The kinds of the objects that the controller owns. `watches` has the other kinds that it watches. */
    readonly owns?: readonly { readonly apiVersion: string; readonly kind: string }[];
    readonly watches?: readonly { readonly apiVersion: string; readonly kind: string }[];
    /** The finalizer that the controller adds to objects; absent when it has no cleanup. */
    readonly finalizer?: string;
    readonly concurrency: number;
    /**
     * The shard that this object describes. The keys of the shard are those for which {@link shardOf} returns `index`.
     * Absent when the controller is not sharded.
     */
    readonly shard?: { readonly index: number; readonly of: number };
  };
  readonly status?: ControllerReport;
}

const text = { type: 'string' } as const;
const time = { type: 'string', format: 'date-time' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const number = { type: 'number' } as const;
const kind = {
  type: 'object',
  required: ['apiVersion', 'kind'],
  properties: { apiVersion: text, kind: text },
} as const;
const percentiles = { type: 'object', required: ['p50', 'p99'], properties: { p50: number, p99: number } } as const;

const key = {
  type: 'object',
  required: ['key', 'state', 'attempts'],
  properties: {
    key: text,
    state: { type: 'string', enum: ['processing', 'parked', 'delayed', 'ready', 'paused'] },
    attempts: count,
    failingSince: time,
    nextTime: time,
    lastError: text,
    reasons: { type: 'array', items: text },
  },
} as const;

const status = {
  type: 'object',
  required: ['reportTime', 'running', 'queue', 'keys', 'runs', 'rates'],
  properties: {
    reportTime: time,
    leader: {
      type: 'object',
      required: ['lease', 'identity', 'term'],
      properties: { lease: text, identity: text, term: count },
    },
    running: { type: 'boolean' },
    queue: {
      type: 'object',
      required: ['ready', 'processing', 'delayed', 'parked', 'paused', 'failing'],
      properties: { ready: count, processing: count, delayed: count, parked: count, paused: count, failing: count },
    },
    keys: { type: 'array', items: key },
    omittedKeys: count,
    runs: { type: 'object', additionalProperties: count },
    rates: { type: 'object', required: ['runs', 'errors'], properties: { runs: number, errors: number } },
    waitMs: percentiles,
    durationMs: percentiles,
    problem: text,
  },
} as const;

const spec = {
  type: 'object',
  required: ['controller', 'reconciles', 'concurrency'],
  properties: {
    controller: text,
    reconciles: kind,
    owns: { type: 'array', items: kind },
    watches: { type: 'array', items: kind },
    finalizer: text,
    concurrency: count,
    shard: { type: 'object', required: ['index', 'of'], properties: { index: count, of: count } },
  },
} as const;

/**
 * `controllers.homeostat.internal/v1alpha1 Controller`: the kind of objects that describe controllers and their queues.
 * The process that runs a controller writes the object.
 */
export const controllerModel: ModelDescriptor<ControllerObject> = defineModel({
  gvk: 'controllers.homeostat.internal/v1alpha1/Controller',
  plural: 'controllers',
  singular: 'controller',
  nameFormat: 'subdomain',
  subresources: ['status'],
  printerColumns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.reconciles.kind' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.queue.ready' },
    { name: 'Running', type: 'integer', jsonPath: '.status.queue.processing' },
    { name: 'Delayed', type: 'integer', jsonPath: '.status.queue.delayed' },
    { name: 'Failing', type: 'integer', jsonPath: '.status.queue.failing' },
    { name: 'Parked', type: 'integer', jsonPath: '.status.queue.parked' },
    { name: 'Paused', type: 'integer', jsonPath: '.status.queue.paused' },
    { name: 'Shard', type: 'integer', jsonPath: '.spec.shard.index', priority: 1 },
    { name: 'Problem', type: 'string', jsonPath: '.status.problem', priority: 1 },
  ],
  schema: { type: 'object', required: ['spec'], properties: { spec, status } },
  indexes: ['spec.controller', 'spec.reconciles.kind', 'spec.finalizer'],
});
