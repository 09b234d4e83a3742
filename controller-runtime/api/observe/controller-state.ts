import { defineModel } from '../define/define-model.ts';
import type { ModelDescriptor } from '../model/model.ts';
import type { ApiObject } from '../object/object.ts';

/** A key of a controller's queue. */
export interface ControllerKey {
  /** `name`, or `namespace/name`. */
  readonly key: string;
  /**
   * `paused`: the object has the annotation that pauses it. `parked`: the key waits for a change of the object.
   * `delayed`: the key waits until `nextTime`.
   */
  readonly state: 'processing' | 'parked' | 'delayed' | 'ready' | 'paused';
  /** The number of consecutive runs that a back-off followed: failures, requeues and conflicts. */
  readonly attempts: number;
  /** When the first of the runs in `attempts` ended; absent when there are none. */
  readonly failingSince?: string;
  readonly nextTime?: string;
  /** The first 1,024 characters of the last error. */
  readonly lastError?: string;
  /** Types of the reasons why the key is in the queue. */
  readonly reasons?: readonly string[];
}

/** Median and 99th percentile of the durations of the last 512 runs, in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** The state of a controller, as its leader last reported it. */
export interface ControllerReport {
  /** When it was reported. A working controller reports at most every 2 s, and only what has changed. */
  readonly reportTime: string;
  /** The process that runs the controller, by its identity in the lease; absent without an election. */
  readonly leader?: { readonly lease: string; readonly identity: string; readonly term: number };
  /** False when the process has stopped the controller. */
  readonly running: boolean;
  readonly queue: {
    readonly ready: number;
    readonly processing: number;
    readonly delayed: number;
    readonly parked: number;
    readonly paused: number;
    /** Keys that failed at least once, and wait for the next try or a change. */
    readonly failing: number;
  };
  /**
   * At most 200 keys: first those that run, are parked or fail; then up to 20 that are ready or delayed; then those
   * that are paused.
   */
  readonly keys: readonly ControllerKey[];
  /** The number of keys that are left out. */
  readonly omittedKeys?: number;
  /** Runs since the controller started, by result. */
  readonly runs: Readonly<Record<string, number>>;
  /** The numbers of runs and of failed runs per second, over the last minute. */
  readonly rates: { readonly runs: number; readonly errors: number };
  /** Absent before the first run. */
  readonly waitMs?: Percentiles;
  readonly durationMs?: Percentiles;
  /** The reason why the controller can no longer reconcile keys. */
  readonly problem?: string;
}

/**
 * A controller: its definition and its state. The name of the object is `<plugin>.<controller>`, or
 * `<plugin>.<controller>.<index>` for a shard.
 */
export interface ControllerObject extends ApiObject {
  readonly spec: {
    /** `<plugin>/<controller>`, as in the `controller` of a run. */
    readonly controller: string;
    /** The kind of the objects that the controller reconciles. */
    readonly reconciles: { readonly apiVersion: string; readonly kind: string };
    /** The kinds of the objects that the controller owns, and (`watches`) the other kinds to which it listens. */
    readonly owns?: readonly { readonly apiVersion: string; readonly kind: string }[];
    readonly watches?: readonly { readonly apiVersion: string; readonly kind: string }[];
    /** The finalizer that the controller adds to objects, if it has a cleanup. */
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

/** `controllers.homeostat.internal/v1alpha1 Controller`: each controller with its queue, written by the process that runs it. */
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
