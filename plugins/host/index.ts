/**
 * Everything that the author of a plugin needs, from one import. It loads no server and no database driver.
 *
 * Most plugins need only these twenty names:
 *
 * - A plugin: {@link definePlugin}, or a class that extends {@link BasePlugin}.
 * - A kind: {@link defineModel}, or a class that extends {@link AbstractExtension}, with {@link GVK} and
 *   {@link Schema}; {@link IndexSpec} and {@link simpleAttribute} for its indexes; {@link defineVersions} for a kind
 *   with several versions.
 * - A controller: {@link controller}. It also follows another kind with {@link on | on(Model, map)}, and throws the
 *   error {@link terminal} when a retry cannot help; {@link wish} declares its dependents, and {@link createOrUpdate}
 *   changes other objects.
 * - Rules of writes: {@link admit}, and {@link invalid} to refuse one.
 * - Errors: {@link ApiError} and {@link isNotFound}.
 * - Endpoints: {@link route} and {@link ServerResponse}.
 *
 * @packageDocumentation
 */
export { BasePlugin, definePlugin } from './sdk/plugin.ts';
export {
  AbstractExtension,
  ApiError,
  defineModel,
  defineVersions,
  GVK,
  IndexSpec,
  invalid,
  isNotFound,
  Schema,
  simpleAttribute,
} from '@homeostat/controller-runtime/api';
export { controller, createOrUpdate, on, terminal, wish } from '@homeostat/controller-runtime';
export { admit } from './sdk/admit.ts';
export { route, ServerResponse } from '@homeostat/apiserver/endpoints';

// The names that few plugins need.
export { defineExtensionPoint } from './sdk/extension-point.ts';
export type {
  Contribution,
  Contributions,
  ExtensionPoint,
  ExtensionPointOptions,
  PluginExtensions,
} from './sdk/extension-point.ts';
export { defineEvent } from './sdk/plugin-events.ts';
export type { PluginEvents, SharedEvent } from './sdk/plugin-events.ts';
export type { PluginSettings, SettingsValues } from './sdk/plugin-settings.ts';
export type {
  Plugin,
  PluginAdmission,
  PluginClass,
  PluginContext,
  PluginControllers,
  PluginDefinition,
  PluginEndpoints,
  PluginSchemeManager,
} from './sdk/plugin.ts';
export type {
  Admission,
  AdmissionCall,
  AdmissionHooks,
  AdmissionOptions,
  CreateAdmission,
  DeleteAdmission,
  Draft,
  Endpoint,
  IndexCallback,
  Registration,
  UpdateAdmission,
} from '@homeostat/apiserver';
export {
  accept,
  ApiVersion,
  consoleGroup,
  contentType,
  DeleteMapping,
  GetMapping,
  PatchMapping,
  PostMapping,
  predicate,
  publicGroup,
  PutMapping,
  RequestMapping,
  RestController,
  userGroup,
} from '@homeostat/apiserver/endpoints';
export type {
  EndpointResponse,
  FilterFunction,
  HandlerFunction,
  MappingOptions,
  RequestPredicate,
  RouteBuilder,
  RouteOptions,
  RouterFunction,
  ServerEvent,
  ServerRequest,
} from '@homeostat/apiserver/endpoints';
export {
  apiVersionOf,
  conditionsSchema,
  descriptorOf,
  formatKey,
  IndexAttributeFactory,
  isAlreadyExists,
  isApiError,
  isConflict,
  isExpired,
  isInvalid,
  keyOf,
  ModelError,
  multiValueAttribute,
  parseKey,
  reasonOf,
  setCondition,
} from '@homeostat/controller-runtime/api';
export type {
  ApiErrorOptions,
  ApiObject,
  Clock,
  Condition,
  Conversion,
  Converted,
  ExtensionClass,
  FieldCause,
  FieldViolation,
  FromModel,
  GroupVersionKind,
  GvkOptions,
  IndexAttribute,
  IndexDeclaration,
  IndexSpecOptions,
  IndexSpecs,
  JsonSchema,
  Logger,
  Model,
  ModelDescriptor,
  ModelOptions,
  ModelValidation,
  ModelVersion,
  NamespacedObject,
  NamespacedObjectMeta,
  NewCondition,
  NewObject,
  ObjectKey,
  ObjectList,
  ObjectMeta,
  ObjectOf,
  OwnerReference,
  PrinterColumn,
  ScaleSubresource,
  SchemaAttributes,
  StatusReason,
  VersionOptions,
  WatchEvent,
} from '@homeostat/controller-runtime/api';
export {
  addFinalizer,
  and,
  annotationsChanged,
  ConfigMap,
  controllerFor,
  controllerOf,
  controllerReferenceTo,
  createClient,
  Event,
  generationChanged,
  isTerminal,
  labelsChanged,
  Lease,
  Namespace,
  not,
  or,
  owned,
  ownerReferenceTo,
  poll,
  readKubeconfig,
  removeFinalizer,
  removeOwnerReference,
  resourceVersionChanged,
  Secret,
  ServiceAccount,
  setOwnerReference,
  source,
} from '@homeostat/controller-runtime';
export type {
  BackoffOptions,
  Client,
  ControllerDefinition,
  ControllerOptions,
  CreatedOrUpdated,
  CreateOrUpdateRequest,
  Desired,
  Duration,
  EffectContext,
  EventRecorder,
  EventType,
  FieldChange,
  FindEffect,
  FollowOptions,
  HttpClientOptions,
  Informer,
  InformerHandler,
  KeySource,
  KubeconfigAccess,
  LeaseSpec,
  ListOptions,
  MapFunction,
  MappedKeys,
  MergePatch,
  ObjectReference,
  Once,
  OnceOptions,
  OwnedSource,
  OwnOptions,
  OwnResult,
  Patch,
  PerObject,
  Predicate,
  PrioritizedKey,
  ReconcileContext,
  Reconciler,
  ReconcileRequest,
  ReconcileResult,
  Schedule,
  ScheduleOptions,
  SourceContext,
  WatchSource,
  Wish,
  WishOptions,
  WishState,
} from '@homeostat/controller-runtime';
