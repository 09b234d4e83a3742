// Clients, caches, queues, controllers and managers. The types of the API are in `@homeostat/controller-runtime/api`.
export type {
  AppliedObject,
  ApplyOptions,
  Client,
  DeepPartial,
  DeleteOptions,
  Desired,
  GetOptions,
  JsonPatchOperation,
  ListOptions,
  MergePatch,
  NamespaceOptions,
  Patch,
  PatchOptions,
  RequestOptions,
  StatusOf,
  WatchOptions,
  WriteOptions,
} from './client/client.ts';
export { createClient } from './create-client.ts';
export type { HttpClientOptions } from './create-client.ts';
export { findServer, readKubeconfig } from './client/http/kubeconfig.ts';
export { trustingFetch } from './client/http/trusting-fetch.ts';
export type { KubeconfigAccess, KubeconfigOptions } from './client/http/kubeconfig.ts';
export { containLogger } from './client/contain-logger.ts';
export { createOrUpdate } from './client/create-or-update.ts';
export type { CreatedOrUpdated, CreateOrUpdateRequest } from './client/create-or-update.ts';
export { ensureObject } from './client/ensure.ts';
export type { EnsureRequest } from './client/ensure.ts';
export { ForwardingClient } from './client/forwarding-client.ts';
export type { AnyWriteOptions, ReadCall, WriteCall } from './client/forwarding-client.ts';
export { freezeDeep } from './api/index.ts';
export type {
  HandlerOptions,
  HandlerRegistration,
  Informer,
  InformerHandler,
  InformerOptions,
} from './client/informer.ts';
export { createBackedInformer } from './cache/backed-informer.ts';
export type { BackedInformerOptions, BackingSink, InformerBacking } from './cache/backed-informer.ts';
export { createListWatchBacking } from './cache/list-watch-informer.ts';
export type { ListWatchOptions } from './cache/list-watch-informer.ts';
export type { KeyedObject } from './cache/handler-event.ts';
export type { ObjectShape } from './cache/object-shape.ts';
export { sleep } from './clock/sleep.ts';
export { systemClock } from './clock/system-clock.ts';
export { backoffDelayMs } from './queue/backoff.ts';
export type { BackoffOptions } from './queue/backoff.ts';
export type { KeyState, QueueSizes } from './queue/key-state.ts';
export type { WorkItem } from './queue/queue-entry.ts';
export type { Reason, ReasonType } from './queue/reason.ts';
export type { QueueObserver } from './queue/queue-observer.ts';
export { WorkQueue } from './queue/work-queue.ts';
export type { AddOptions, RetryOptions, WorkQueueOptions } from './queue/work-queue.ts';
export { controllerFor } from './controller/definition/controller-builder.ts';
export type { ControllerBuilder } from './controller/definition/controller-builder.ts';
export { controller } from './controller/definition/controller-definition.ts';
export { on, owned } from './controller/definition/followed-kind.ts';
export type { ControllerDefinition, ControllerOptions } from './controller/definition/controller-definition.ts';
export type {
  FollowedKind,
  FollowOptions,
  MapContext,
  MapFunction,
  MappedKeys,
  OwnedSource,
  PrioritizedKey,
  WatchSource,
} from './controller/definition/followed-kind.ts';
export { poll, source } from './controller/definition/key-source.ts';
export type { KeySource, SourceContext } from './controller/definition/key-source.ts';
export { addFinalizer, removeFinalizer } from './controller/run/finalizers.ts';
export type { FinalizerChange } from './controller/run/finalizers.ts';
export {
  controllerOf,
  controllerReferenceTo,
  ownerReferenceTo,
  removeOwnerReference,
  setOwnerReference,
} from './controller/definition/owner-references.ts';
export type { RunRecord } from './controller/observe/run-history.ts';
export { parseDuration } from './controller/definition/parse-duration.ts';
export type { Duration } from './controller/definition/parse-duration.ts';
export type { Schedule, ScheduleOptions } from './controller/definition/cron-schedule.ts';
export type { PerObject } from './controller/definition/timing.ts';
export {
  and,
  annotationsChanged,
  generationChanged,
  labelsChanged,
  not,
  or,
  resourceVersionChanged,
} from './controller/definition/predicates.ts';
export type { ObjectChange, Predicate } from './controller/definition/predicates.ts';
export { wish } from './controller/definition/wish.ts';
export type { FieldChange } from './api/index.ts';
export type { OwnOptions, OwnResult, Wish, WishOptions, WishState } from './controller/definition/wish.ts';
export type { EffectContext, FindEffect, Once, OnceOptions } from './controller/definition/external-effects.ts';
export type {
  ConditionReason,
  ObjectEvents,
  StateCondition,
  ReconcileContext,
  ReconcileFunction,
  ReconcileRequest,
  ReconcileResult,
  Reconciler,
} from './controller/definition/reconciler.ts';
export type { EventRecorder, EventType } from './events/event-recorder.ts';
export { isTerminal, terminal } from './controller/definition/terminal-error.ts';
export type { LeaderElectionOptions } from './election/election-options.ts';
export { createManager } from './manager/manager.ts';
export type { ControllerStatus } from './manager/controller-status.ts';
export type { Manager, WatchHandle } from './manager/manager.ts';
export type { ManagerOptions } from './manager/manager-options.ts';
export { createReporter } from './controller/report/reporter.ts';
export type { Reporter, ReporterOptions } from './controller/report/reporter.ts';
export type { Runnable, RunnableContext } from './manager/runnable.ts';
export { ConfigMap, Event, Lease, Namespace, Secret, ServiceAccount } from './kinds/kubernetes-kinds.ts';
export type { LeaseSpec, ObjectReference } from './kinds/kubernetes-kinds.ts';
