import { forbiddenValue, invalidValue, requiredValue, takeCauses } from '../errors/field-cause.ts';
import { checkAnnotations, checkLabels } from '../object/labels.ts';
import type { ModelDescriptor } from './model.ts';
import { checkDnsLabel, checkGenerateName, checkName, checkQualifiedName } from '../object/names.ts';
import type { ObjectMeta, OwnerReference } from '../object/object.ts';
import type { FieldCause } from '../errors/status.ts';

/** The properties of a model on which the rules of metadata depend. Every ModelDescriptor has them. */
export type MetadataRules = Pick<ModelDescriptor, 'nameFormat' | 'scope'>;

/**
 * Returns the violations (422) in the metadata of one object: name and generateName, namespace, labels, annotations,
 * finalizers, ownerReferences. It does not compare the object with the stored one. The types must be right already (see
 * metadataShapeErrors). At most 100 causes per field.
 */
export function validateMetadata(metadata: Partial<ObjectMeta>, rules: MetadataRules): FieldCause[] {
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  const causes = nameCauses(metadata, rules);
  causes.push(...namespaceCauses(metadata.namespace ?? '', rules));
  // Absent fields are skipped to save time: every write is checked, and most objects have none of these fields.
  if (isGiven(labels)) causes.push(...checkLabels(labels, 'metadata.labels'));
  if (isGiven(annotations)) causes.push(...checkAnnotations(annotations, 'metadata.annotations'));
  if (isGiven(finalizers)) causes.push(...takeCauses(finalizerCauses(finalizers, 'metadata.finalizers')));
  if (isGiven(ownerReferences)) causes.push(...takeCauses(ownerCauses(ownerReferences, 'metadata.ownerReferences')));
  return causes;
}

/** True unless the value is undefined or null: null counts as absent. */
function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

function nameCauses(metadata: Partial<ObjectMeta>, rules: MetadataRules): FieldCause[] {
  // An empty string or null counts as absent, because clients with typed objects send them.
  const name = metadata.name ?? '';
  const generateName = metadata.generateName ?? '';
  if (name === '' && generateName === '') {
    return [requiredValue('metadata.name', 'name or generateName is required')];
  }
  const prefixMessages = generateName === '' ? [] : checkGenerateName(generateName, rules.nameFormat);
  const nameMessages = name === '' ? [] : checkName(name, rules.nameFormat);
  if (prefixMessages.length + nameMessages.length === 0) return [];
  return [
    ...prefixMessages.map((message) => invalidValue('metadata.generateName', generateName, message)),
    ...nameMessages.map((message) => invalidValue('metadata.name', name, message)),
  ];
}

function namespaceCauses(namespace: string, rules: MetadataRules): FieldCause[] {
  const field = 'metadata.namespace';
  if (rules.scope === 'Cluster') return namespace === '' ? [] : [forbiddenValue(field, 'not allowed on this type')];
  if (namespace === '') return [requiredValue(field, 'objects of this type live in a namespace')];
  return checkDnsLabel(namespace).map((message) => invalidValue(field, namespace, message));
}

function* finalizerCauses(finalizers: readonly string[], field: string): Generator<FieldCause> {
  for (const finalizer of finalizers) {
    for (const message of checkQualifiedName(finalizer)) yield invalidValue(field, finalizer, message);
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    yield invalidValue(field, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set');
  }
}

function* ownerCauses(owners: readonly OwnerReference[], field: string): Generator<FieldCause> {
  for (const [index, owner] of owners.entries()) yield* oneOwnerCauses(owner, `${field}[${index}]`);
  const [first, second] = owners.filter((owner) => owner.controller === true);
  if (first === undefined || second === undefined) return;
  const both = `${first.kind}/${first.name} and ${second.kind}/${second.name}`;
  const detail = `Only one reference can have Controller set to true. Found "true" in references for ${both}`;
  yield invalidValue(field, owners, detail);
}

function* oneOwnerCauses(owner: Partial<OwnerReference>, field: string): Generator<FieldCause> {
  const { apiVersion, kind, name, uid } = owner;
  if (!apiVersion || !/^([^/]*\/)?[^/]+$/.test(apiVersion)) {
    yield invalidValue(`${field}.apiVersion`, apiVersion ?? '', 'version must not be empty');
  }
  if (!kind) yield invalidValue(`${field}.kind`, '', 'must not be empty');
  if (!name) yield invalidValue(`${field}.name`, '', 'must not be empty');
  if (!uid) yield invalidValue(`${field}.uid`, '', 'must not be empty');
  // As in Kubernetes, an Event cannot be an owner. Events expire, and the dependents would be deleted with the Event.
  if (apiVersion === 'v1' && kind === 'Event') {
    yield invalidValue(field, owner, '/v1, Kind=Event is disallowed from being an owner');
  }
}
