import { defineModel } from '../define/define-model.ts';
import type { ModelDescriptor } from '../model/model.ts';
import type { NamespacedObject } from '../object/object.ts';
import type { NamedObject, RecordedChange } from './recorded-change.ts';

/** How a run ended; `terminal` and `timeout` are errors, too. */
export type RunResult =
  'success' | 'requeue_after' | 'requeue' | 'conflict' | 'error' | 'terminal' | 'timeout' | 'stopped' | 'paused';

/** The reason why an object was reconciled. */
export interface RunTrigger {
  /** `event`, `owner`, `mapping`, `resync`, `retry`, `timer`, `schedule` or `manual`. */
  readonly type: string;
  /** Details for people, such as `MODIFIED` or `Badge ada`. */
  readonly detail?: string;
  /**
   * The revision of the object that changed. Absent when no object changed, and for the objects that the controller
   * reconciles at its start.
   */
  readonly resourceVersion?: string;
  /** The field manager that wrote this revision, if it is known. */
  readonly manager?: string;
}

/** A write of a run. */
export interface RunWrite {
  /** `create`, `update`, `patch`, `apply` or `delete`. */
  readonly verb: string;
  readonly subresource?: string;
  readonly object: NamedObject;
  /** The revision that the write created; absent for a deletion, and for a write that failed. */
  readonly resourceVersion?: string;
  /** False when the server had nothing to change. Absent for a write that failed, and when it is not known. */
  readonly changed?: boolean;
  /** The fields that the write changed; absent when the state before the write is not known. */
  readonly changes?: readonly RecordedChange[];
  /** The number of changed fields that are left out, because there are too many. */
  readonly omittedChanges?: number;
  /** The error of a failed run. */
  readonly error?: string;
}

/** One run of a reconciler for one object. Its name is the `reconcileID` of logs, events and spans. */
export interface Run extends NamespacedObject {
  /**
   * The controller, as `<plugin>/<controller>`, or as `<name of the reporter>/<controller>` for a manager in another
   * process.
   */
  readonly controller: string;
  /**
   * The object that was reconciled. Its uid and revision are those at the start of the run; they are absent when the
   * object did not exist.
   */
  readonly object: NamedObject & { readonly generation?: number };
  /** The reasons why the object was in the queue; at most eight. */
  readonly triggers: readonly RunTrigger[];
  /** 1 for the first run, 2 for the first run after a failure, and so on. */
  readonly attempt: number;
  /** Milliseconds for which the object was ready before a worker took it. */
  readonly waitMs: number;
  readonly startTime: string;
  readonly durationMs: number;
  readonly result: RunResult;
  readonly error?: { readonly message: string; readonly stack?: string };
  /** The first 32 writes. */
  readonly writes?: readonly RunWrite[];
  /** Further writes. */
  readonly omittedWrites?: number;
  /** When the object is reconciled again if nothing changes before. */
  readonly nextTime?: string;
  /**
   * The number of runs of this controller that were left out since the last recorded one, because there were too many.
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
  waitMs: { type: 'number', description: 'Milliseconds for which the object was ready before a worker took it.' },
  startTime: time,
  durationMs: { type: 'number' },
  result: { type: 'string', enum: results },
  error: { type: 'object', required: ['message'], properties: { message: text, stack: text } },
  writes: { type: 'array', items: write, description: 'What the run wrote.' },
  omittedWrites: { type: 'integer' },
  nextTime: { ...time, description: 'When the object runs again, if nothing changes before.' },
  unrecorded: { type: 'integer', description: 'Runs since the last recorded one that are not recorded.' },
} as const;

/**
 * `controllers.homeostat.internal/v1alpha1 Run`: a recorded run of a controller. Its domain is the same on all servers,
 * because a controller in another process does not know the domain of the server.
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
