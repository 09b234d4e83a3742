// The wire vocabulary: pure, no I/O, no timers, no Node imports. Exported by name, so that nothing leaks.
export { formatKey, keyOf, parseKey } from './object.ts';
export type { ApiObject, ManagedFieldsEntry, NewObject, ObjectKey, ObjectMeta, OwnerReference } from './object.ts';
export { apiVersionOf } from './model.ts';
export type {
  Conversion,
  Converted,
  ExtensionClass,
  GroupVersionKind,
  Model,
  ModelDescriptor,
  ModelVersion,
  PrinterColumn,
  ScaleSubresource,
} from './model.ts';
export { invalid } from './model-validation.ts';
export type { FieldViolation, ModelValidation } from './model-validation.ts';
export { IndexSpec } from './index-spec.ts';
export type { IndexAttribute, IndexSpecOptions } from './index-spec.ts';
export type { JsonSchema } from './json-schema.ts';
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
} from './errors.ts';
export type { ApiErrorOptions } from './errors.ts';
export { statusCodes } from './status.ts';
export type { CauseReason, FieldCause, Status, StatusReason } from './status.ts';
export type { Requirement, Selector, SelectorOperator } from './selector.ts';
export type { ObjectList, WatchEvent } from './watch-event.ts';
export type { Clock, Timer } from './clock.ts';
export { formatLeaderEpoch, leaderHeader, parseLeaderEpoch } from './leader-epoch.ts';
export type { LeaderEpoch } from './leader-epoch.ts';
export { formatPreconditions, parsePreconditions, preconditionsHeader } from './preconditions.ts';
export type { Preconditions } from './preconditions.ts';
export { silentLogger } from './logger.ts';
export type { Logger } from './logger.ts';
export {
  checkDnsLabel,
  checkDnsSubdomain,
  checkGenerateName,
  checkName,
  checkQualifiedName,
  generateName,
} from './names.ts';
export type { NameFormat } from './names.ts';
export { checkAnnotations, checkLabels } from './labels.ts';
export { validateMetadata } from './metadata.ts';
export type { MetadataRules } from './metadata.ts';
export { metadataFieldNames, metadataShapeErrors, ownerReferenceFieldNames } from './metadata-shape.ts';
export { forbiddenValue, invalidValue, quoteValue, requiredValue } from './field-cause.ts';
export { parseFieldSelector, parseLabelSelector } from './parse-selector.ts';
export { formatSelector } from './format-selector.ts';
export { matchesLabels, matchesValues } from './match-selector.ts';
export { applyMergePatch, strategicMergeDirective } from './merge-patch.ts';
export { applyJsonPatch } from './json-patch.ts';
export { setCondition } from './conditions.ts';
export type { Condition, NewCondition } from './conditions.ts';
export { deepEqual } from './json-equal.ts';
export { AbstractExtension } from './abstract-extension.ts';
export { GVK } from './gvk.ts';
export type { GvkDecorator } from './gvk.ts';
export type { GvkOptions, ResourceOptions } from './gvk-options.ts';
export { Schema } from './schema.ts';
export type { SchemaDecorator } from './schema.ts';
export type { AnyClass, ClassReference, SchemaAttributes } from './schema-attributes.ts';
export { defineModel } from './define-model.ts';
export type { KnownKeywords } from './known-keywords.ts';
export type { IndexDeclaration, ModelOptions, ObjectOf, PathIndex } from './define-model.ts';
export type { FieldPath } from './field-path.ts';
export type { FromSchema } from './from-schema.ts';
export { defineVersions } from './define-versions.ts';
export type { VersionOptions } from './define-versions.ts';
export { declarationStackOf } from './declaration-stack.ts';
export { descriptorOf } from './descriptor.ts';
export { checkDescriptor } from './check-descriptor.ts';
export type { DescriptorRules } from './check-descriptor.ts';
export { unknownKeyOf } from './unknown-key.ts';
export { ModelError } from './model-error.ts';
export { metadataSymbol } from './model-metadata.ts';
export { IndexSpecs } from './index-specs.ts';
export { defaultIndexes } from './default-indexes.ts';
export { IndexAttributeFactory, multiValueAttribute, simpleAttribute } from './index-attribute.ts';
export { pathAttribute } from './path-index.ts';
export { JsonPath } from './json-path.ts';
export { compareCodePoints } from './code-point-order.ts';
