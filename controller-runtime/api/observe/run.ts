import { defineModel } from '../define/define-model.ts';
import type { ModelDescriptor } from '../model/model.ts';
import type { NamespacedObject } from '../object/object.ts';
import type { NamedObject, RecordedChange } from './recorded-change.ts';

/** The result of a run. `terminal` and `timeout` are errors, too. */
export type RunResult =
  'success' | 'requeue_after' | 'requeue' | 'conflict' | 'error' | 'terminal' | 'timeout' | 'stopped' | 'paused';

/** The reason why an object was reconciled. */
export interface RunTrigger {
  /** The type of the reason: `event`, `owner`, `mapping`, `resync`, `retry`, `timer`, `schedule` or `manual`. */
  readonly type: string;
  /**
   * More about the reason, for people: for example, the type of the event (`MODIFIED`), or the object that changed
   * (`Badge ada`).
   */
  readonly detail?: string;
  /**
   * The revision of the object that changed. Absent when no object changed, and for the objects that the controller
   * reconciles at its start.
   */
  readonly resourceVersion?: string;
  /** The field manager that wrote this revision; absent when it is not known. */
  readonly manager?: string;
}

/** A write of a run. */
export interface RunWrite {
  /** `create`, `update`, `patch`, `apply` or `delete`. */
  readonly verb: string;
  readonly subresource?: string;
  readonly object: NamedObject;
  /** The revision of the object after the write; absent when the write removed the object, or failed. */
  readonly resourceVersion?: string;
  /**
   * True when the write changed the object, false when the object already had all values. Absent when the write failed
   * or removed the object, and when it is unknown whether the object changed.
   */
  readonly changed?: boolean;
  /**
   * The fields that the write changed. Absent when `changed` is not true, and when the lists of this write and of all
   * earlier writes of the run together have more than 32,768 characters of JSON.
   */
  readonly changes?: readonly RecordedChange[];
  /** The number of changed fields that `changes` does not contain. */
  readonly omittedChanges?: number;
  /** The error of the write, if the write failed. */
  readonly error?: string;
}

/** One run of a reconciler for one object. Its name is the `reconcileID` of logs, events and spans. */
export interface Run extends NamespacedObject {
  /**
   * The controller, as `<plugin>/<controller>`. For a manager outside of plugins, the first part is the `name` in its
   * option `report`.
   */
  readonly controller: string;
  /**
   * The object that was reconciled. Its uid and revision are those at the start of the run; they are absent when the
   * object did not exist.
   */
  readonly object: NamedObject & { readonly generation?: number };
  /** The reasons why the object was in the queue; at most eight. */
  readonly triggers: readonly RunTrigger[];
  /** The key's `attempts` before this run (see ControllerKey), plus 1. */
  readonly attempt: number;
  /** Milliseconds from the time at which the run was due to the start of the run. */
  readonly waitMs: number;
  readonly startTime: string;
  readonly durationMs: number;
  readonly result: RunResult;
  readonly error?: { readonly message: string; readonly stack?: string };
  /** The first 32 writes of the run. */
  readonly writes?: readonly RunWrite[];
  /** The number of writes that `writes` leaves out. */
  readonly omittedWrites?: number;
  /** The time of the next reconcile of the object, unless a change causes an earlier one. */
  readonly nextTime?: string;
  /**
   * The number of runs of this controller between its previous recorded run and this one. They were not recorded,
   * because there were too many.
   */
  readonly unrecorded?: number;
}

const text = { type: 'string' } as const;
const time = { type: 'string', format: 'date-time' } as const;

const flag = { type: 'boolean' } as const;
const anything = { 'x-kubernetes-preserve-unknown-fields': true } as const;

const changes = {
  type: 'array',
  items: {
    type: 'object',
    required: ['path'],
    properties: { path: text, from: anything, to: anything, redacted: flag, cut: flag },
  },
} as const;

const reference = {
  type: 'object',
  required: ['apiVersion', 'kind', 'name'],
  properties: {
    apiVersion: text,
    kind: text,
    namespace: text,
    name: text,
    uid: text,
    resourceVersion: text,
  },
} as const;

const results = [
  ...([
    'success',
    'requeue_after',
    'requeue',
    'conflict',
    'error',
    'terminal',
    'timeout',
    'stopped',
    'paused',
  ] as const),
] as const satisfies readonly RunResult[];

const trigger = {
  type: 'object',
  required: ['type'],
  properties: { type: text, detail: text, resourceVersion: text, manager: text },
} as const;

const write = {
  type: 'object',
  required: ['verb', 'object'],
  properties: {
    verb: text,
    subresource: text,
    object: reference,
    resourceVersion: text,
    changed: { type: 'boolean' },
    changes,
    omittedChanges: { type: 'integer' },
    error: text,
  },
} as const;

const required = [
  ...(['controller', 'object', 'triggers', 'attempt', 'waitMs', 'startTime', 'durationMs', 'result'] as const),
] as const;

const properties = {
  controller: { ...text, description: '<plugin>/<controller>' },
  object: { ...reference, properties: { ...reference.properties, generation: { type: 'integer' } } },
  triggers: { type: 'array', items: trigger, description: 'Why the object was in the queue.' },
  attempt: { type: 'integer' },
  waitMs: {
    type: 'number',
    description: 'Milliseconds from the time at which the run was due to the start of the run.',
  },
  startTime: time,
  durationMs: { type: 'number' },
  result: { type: 'string', enum: results },
  error: { type: 'object', required: ['message'], properties: { message: text, stack: text } },
  writes: { type: 'array', items: write, description: 'The writes of the run.' },
  omittedWrites: { type: 'integer' },
  nextTime: { ...time, description: 'The time of the next reconcile, unless a change causes an earlier one.' },
  unrecorded: {
    type: 'integer',
    description: 'The number of unrecorded runs since the previous recorded run.',
  },
} as const;

/**
 * `controllers.homeostat.internal/v1alpha1 Run`: the kind of recorded runs of controllers. The group is the same on
 * every server, even on a server with another service domain, because a controller in another process does not know the
 * service domain.
 */
export const runModel: ModelDescriptor<Run> = defineModel({
  gvk: 'controllers.homeostat.internal/v1alpha1/Run',
  plural: 'runs',
  singular: 'run',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  printerColumns: [
    { name: 'Controller', type: 'string', jsonPath: '.controller' },
    { name: 'Object', type: 'string', jsonPath: '.object.name' },
    { name: 'Trigger', type: 'string', jsonPath: '.triggers[0].type' },
    { name: 'Result', type: 'string', jsonPath: '.result' },
    { name: 'Ms', type: 'number', jsonPath: '.durationMs' },
    { name: 'Age', type: 'date', jsonPath: '.startTime' },
    { name: 'Error', type: 'string', jsonPath: '.error.message', priority: 1 },
  ],
  schema: { type: 'object', required, properties },
  indexes: ['controller', 'object.kind', 'object.namespace', 'object.name', 'object.uid', 'result', 'startTime'],
});
