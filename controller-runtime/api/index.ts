// The types and functions of the API. They use no I/O, no timers and no modules of Node.js. Each export is listed by
// name, so that nothing becomes public by accident.
export { formatKey, keyOf, parseKey } from './object/object.ts';
export type {
  ApiObject,
  ManagedFieldsEntry,
  NamespacedObject,
  NamespacedObjectMeta,
  NewObject,
  ObjectKey,
  ObjectMeta,
  OwnerReference,
} from './object/object.ts';
export { apiVersionOf } from './model/model.ts';
export type {
  Conversion,
  Converted,
  ExtensionClass,
  FromModel,
  GroupVersionKind,
  Model,
  ModelDescriptor,
  ModelVersion,
  PrinterColumn,
  ScaleSubresource,
} from './model/model.ts';
export { invalid } from './model/model-validation.ts';
export type { FieldViolation, ModelValidation } from './model/model-validation.ts';
export { IndexSpec } from './model/index-spec.ts';
export type { IndexAttribute, IndexSpecOptions } from './model/index-spec.ts';
export type { JsonSchema, SchemaRule } from './schema/json-schema.ts';
export {
  ApiError,
  isAlreadyExists,
  isApiError,
  isConflict,
  isExpired,
  isFormerLeader,
  isInvalid,
  ignoreNotFound,
  isNotFound,
  reasonOf,
  reasonOfCode,
} from './errors/errors.ts';
export type { ApiErrorOptions } from './errors/errors.ts';
export { statusCodes } from './errors/status.ts';
export type { CauseReason, FieldCause, Status, StatusReason } from './errors/status.ts';
export type { Requirement, Selector, SelectorOperator } from './selector/selector.ts';
export type { ObjectList, WatchEvent } from './object/watch-event.ts';
export type { Clock, Timer } from './base/clock.ts';
export { freezeDeep } from './base/freeze-deep.ts';
export { LruCache } from './base/lru-cache.ts';
export type { LruCacheOptions } from './base/lru-cache.ts';
export { isJsonObject } from './base/json-object.ts';
export type { JsonObject } from './base/json-object.ts';
export { shardOf } from './base/shard-of.ts';
export { formatLeaderEpoch, leaderHeader, parseLeaderEpoch } from './base/leader-epoch.ts';
export type { LeaderEpoch } from './base/leader-epoch.ts';
export { formatPreconditions, parsePreconditions, preconditionsHeader } from './object/preconditions.ts';
export type { Preconditions } from './object/preconditions.ts';
export { silentLogger } from './base/logger.ts';
export type { Logger } from './base/logger.ts';
export {
  checkDnsLabel,
  checkDnsSubdomain,
  checkGenerateName,
  checkLabelValue,
  checkName,
  checkQualifiedName,
  generateName,
} from './object/names.ts';
export type { NameFormat } from './object/names.ts';
export { checkAnnotations, checkLabels } from './object/labels.ts';
export { validateMetadata } from './model/metadata.ts';
export type { MetadataRules } from './model/metadata.ts';
export { metadataFieldNames, metadataShapeErrors, ownerReferenceFieldNames } from './object/metadata-shape.ts';
export { forbiddenValue, invalidValue, quoteValue, requiredValue } from './errors/field-cause.ts';
export { parseFieldSelector, parseLabelSelector } from './selector/parse-selector.ts';
export { formatSelector } from './selector/format-selector.ts';
export { matchesLabels, matchesValues } from './selector/match-selector.ts';
export { applyMergePatch, strategicMergeDirective } from './patch/merge-patch.ts';
export { applyJsonPatch } from './patch/json-patch.ts';
export { setCondition } from './object/conditions.ts';
export { conditionSchema, conditionsSchema } from './object/condition-schema.ts';
export type { Condition, NewCondition } from './object/conditions.ts';
export { deepEqual } from './base/json-equal.ts';
export { AbstractExtension } from './define/abstract-extension.ts';
export { GVK } from './define/gvk.ts';
export type { GvkDecorator } from './define/gvk.ts';
export type { GvkOptions, ResourceOptions } from './model/gvk-options.ts';
export { Schema } from './define/schema.ts';
export type { SchemaDecorator } from './define/schema.ts';
export type { AnyClass, ClassReference, SchemaAttributes } from './define/schema-attributes.ts';
export { defineModel } from './define/define-model.ts';
export type { KnownKeywords } from './schema/known-keywords.ts';
export type { IndexDeclaration, ModelOptions, ObjectOf, PathIndex } from './define/define-model.ts';
export type { FieldPath } from './object/field-path.ts';
export type { FromSchema } from './define/from-schema.ts';
export { defineVersions } from './define/define-versions.ts';
export type { VersionOptions } from './define/define-versions.ts';
export { declarationStackOf } from './define/declaration-stack.ts';
export { descriptorOf } from './define/descriptor.ts';
export { checkDescriptor } from './define/check-descriptor.ts';
export type { DescriptorRules } from './define/check-descriptor.ts';
export { nearestKey, unknownKeyOf } from './base/unknown-key.ts';
export { ModelError } from './errors/model-error.ts';
export { metadataSymbol } from './define/model-metadata.ts';
export { IndexSpecs } from './indexes/index-specs.ts';
export { defaultIndexes } from './indexes/default-indexes.ts';
export { IndexAttributeFactory, multiValueAttribute, simpleAttribute } from './indexes/index-attribute.ts';
export { pathAttribute } from './indexes/path-index.ts';
export { JsonPath } from './base/json-path.ts';
export { compareCodePoints } from './base/code-point-order.ts';
export { runModel } from './observe/run.ts';
export type { Run, RunResult, RunTrigger, RunWrite } from './observe/run.ts';
export { externalEffectModel } from './observe/external-effect.ts';
export type { ExternalEffect } from './observe/external-effect.ts';
export { fieldChanges } from './observe/field-changes.ts';
export type { FieldChange } from './observe/field-changes.ts';
export { isConfidential, recordedChanges } from './observe/recorded-change.ts';
export type { RecordedChanges } from './observe/recorded-change.ts';
export { formatAge } from './base/format-age.ts';
export { explainObject } from './observe/explain-object.ts';
export type { KnownObject } from './observe/explain-object.ts';
export type { ExplainedController, ExplainedFinalizer, ExplainedOwner, Explanation } from './observe/explanation.ts';
export type { HistoryEntry, ObjectHistoryList } from './observe/history-entry.ts';
export { writerOf } from './observe/writer-of.ts';
export { actionBetween, isPaused, pausedAnnotation, reconcileAnnotation } from './observe/actions.ts';
export { controllerModel } from './observe/controller-state.ts';
export type { ControllerKey, ControllerObject, ControllerReport, Percentiles } from './observe/controller-state.ts';
export type { NamedObject, RecordedChange } from './observe/recorded-change.ts';
