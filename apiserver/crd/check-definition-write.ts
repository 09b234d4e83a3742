import type { FieldViolation } from '@homeostat/controller-runtime/api';
import type { MeasuredWork } from '../turns/in-turns.ts';
import { checkDefinition } from './check-definition.ts';
import type { CustomResourceDefinition } from './definition.ts';
import { DefinitionViolations } from './definition-violations.ts';

/**
 * Returns all violations of a definition that is created, or that replaces `previous`. Violations that `previous`
 * already has do not count, because it may have been written under older rules. Yields as {@link checkDefinition} does.
 */
export function* checkDefinitionWrite(
  next: CustomResourceDefinition,
  previous: CustomResourceDefinition | undefined,
): MeasuredWork<readonly FieldViolation[]> {
  if (previous === undefined) return [...checkName(next), ...checkApproval(next), ...(yield* checkDefinition(next))];
  const changes = checkChange(next, previous);
  const found = yield* checkDefinition(next);
  if (found.length === 0) return changes;
  const old = new Set((yield* checkDefinition(previous)).map(({ field, reason }) => `${reason} ${field}`));
  return [...found.filter(({ field, reason }) => !old.has(`${reason} ${field}`)), ...changes];
}

function checkName({ metadata, spec }: CustomResourceDefinition): readonly FieldViolation[] {
  const violations = new DefinitionViolations();
  if (metadata.name !== `${spec.names.plural}.${spec.group}`)
    violations.invalid('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group');
  return violations.found;
}

/** The annotation with the approval that a kind in a group of Kubernetes needs. */
const approvalAnnotation = 'api-approved.kubernetes.io';

function approvalOf({ metadata }: CustomResourceDefinition): string {
  return metadata.annotations?.[approvalAnnotation] ?? '';
}

/**
 * Checks that a definition in a group of Kubernetes has the approval annotation, with a URL or a reason that begins
 * with `unapproved`.
 */
function checkApproval(definition: CustomResourceDefinition): readonly FieldViolation[] {
  const violations = new DefinitionViolations();
  const approval = approvalOf(definition);
  const isProtected = /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(definition.spec.group);
  const place = `metadata.annotations[${approvalAnnotation}]`;
  const rule = `protected groups must have approval annotation "${approvalAnnotation}"`;
  const more = 'see https://github.com/kubernetes/enhancements/pull/1111';
  if (isProtected && approval === '') violations.required(place, `${rule}, ${more}`);
  else if (isProtected && !approval.startsWith('unapproved') && !/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(approval))
    violations.invalid(place, approval, `${rule} with either a URL or a reason starting with "unapproved", ${more}`);
  return violations.found;
}

/**
 * Checks the change of a stored definition: the fields that may not change, the stored versions, the certificate bundle
 * of the webhook, and the approval annotation.
 */
export function checkChange(
  next: CustomResourceDefinition,
  previous: CustomResourceDefinition,
): readonly FieldViolation[] {
  const violations = new DefinitionViolations();
  const fixed: (readonly [field: string, before: string, after: string])[] = [
    ['spec.group', previous.spec.group, next.spec.group],
    ['spec.names.plural', previous.spec.names.plural, next.spec.names.plural],
  ];
  if (isEstablished(previous)) {
    fixed.push(['spec.scope', previous.spec.scope, next.spec.scope]);
    fixed.push(['spec.names.kind', previous.spec.names.kind, next.spec.names.kind]);
  }
  for (const [field, before, after] of fixed)
    if (before !== after) violations.invalid(field, after, 'field is immutable');
  checkStoredVersions(next, violations);
  checkAuthorities(next, previous, violations);
  return [...violations.found, ...(approvalOf(next) === approvalOf(previous) ? [] : checkApproval(next))];
}

/** Checks that `spec.versions` has each version in `status.storedVersions`, in which objects may still be stored. */
function checkStoredVersions({ spec, status }: CustomResourceDefinition, violations: DefinitionViolations): void {
  const present = new Set(spec.versions.map(({ name }) => name));
  for (const [index, name] of (status?.storedVersions ?? []).entries())
    if (!present.has(name)) violations.invalid(`status.storedVersions[${index}]`, name, 'must appear in spec.versions');
}

/**
 * Checks that a certificate bundle is not replaced by one that cannot be parsed, unless the old one cannot be parsed
 * either. kube-apiserver checks the same.
 */
function checkAuthorities(
  next: CustomResourceDefinition,
  previous: CustomResourceDefinition,
  violations: DefinitionViolations,
): void {
  const [before = '', after = ''] = [previous, next].map(
    ({ spec }) => spec.conversion?.webhook?.clientConfig?.caBundle,
  );
  if (before === after || after === '' || isBundle(after) || (before !== '' && !isBundle(before))) return;
  const rule = 'unable to load root certificates: unable to parse bytes as PEM block';
  violations.invalid('spec.conversion.webhook.clientConfig.caBundle', after, rule);
}

function isBundle(caBundle: string): boolean {
  return atob(caBundle).includes('-----BEGIN CERTIFICATE-----');
}

function isEstablished({ status }: CustomResourceDefinition): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Established' && value === 'True') === true;
}
