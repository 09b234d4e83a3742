import { checkDnsSubdomain, checkName, deepEqual } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldViolation, NamespacedObject } from '@homeostat/controller-runtime/api';
import {
  firstViolations,
  invalidField,
  isEmptyList,
  notSupported,
  required,
  selectorViolations,
} from './field-violations.ts';
import type { LabelSelector, PolicyRule, RoleRef, Subject } from './objects/rbac-objects.ts';
import { rbacGroup } from './rbac-defaults.ts';

type Found = Generator<FieldViolation>;

interface Role extends ApiObject {
  readonly rules?: readonly PolicyRule[] | null;
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] | null } | null;
}

interface Binding extends ApiObject {
  readonly roleRef?: Partial<RoleRef>;
  readonly subjects?: readonly Partial<Subject>[] | null;
}

/** Checks a Role by Kubernetes' validation rules, and returns at most a hundred violations. */
export function checkRole({ rules }: Role & NamespacedObject): readonly FieldViolation[] {
  return firstViolations(rulesOf(rules ?? [], true));
}

/** Checks a ClusterRole by Kubernetes' validation rules, and returns at most a hundred violations. */
export function checkClusterRole({ rules, aggregationRule }: Role): readonly FieldViolation[] {
  return firstViolations(both(rulesOf(rules ?? [], false), aggregationOf(aggregationRule)));
}

/**
 * Checks a RoleBinding or a ClusterRoleBinding by Kubernetes' validation rules, and returns at most a hundred
 * violations. `kinds` are the kinds of roles to which the binding may refer.
 */
export function checkRoleBinding(
  next: Binding,
  stored: Binding | undefined,
  kinds: readonly string[],
): readonly FieldViolation[] {
  const { metadata, roleRef = {}, subjects } = next;
  return firstViolations(
    both(
      roleRefOf(roleRef, kinds),
      both(subjectsOf(subjects ?? [], metadata.namespace !== undefined), changeOf(roleRef, stored?.roleRef)),
    ),
  );
}

function* both(first: Found, second: Found): Found {
  yield* first;
  yield* second;
}

function* rulesOf(rules: readonly PolicyRule[], isNamespaced: boolean): Found {
  for (const [index, rule] of rules.entries()) yield* ruleOf(rule, `rules[${index}]`, isNamespaced);
}

function* ruleOf(rule: Partial<PolicyRule>, field: string, isNamespaced: boolean): Found {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
  if (isEmptyList(verbs)) yield required(`${field}.verbs`, 'verbs must contain at least one value');
  if (!isEmptyList(nonResourceURLs)) {
    const at = `${field}.nonResourceURLs`;
    if (isNamespaced) yield invalidField(at, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs');
    if (!isEmptyList(apiGroups) || !isEmptyList(resources) || !isEmptyList(resourceNames))
      yield invalidField(at, nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs');
    return;
  }
  if (isEmptyList(apiGroups)) yield required(`${field}.apiGroups`, 'resource rules must supply at least one api group');
  if (isEmptyList(resources)) yield required(`${field}.resources`, 'resource rules must supply at least one resource');
}

function* aggregationOf(rule: Role['aggregationRule']): Found {
  if (rule === undefined || rule === null) return;
  const field = 'aggregationRule.clusterRoleSelectors';
  const selectors = rule.clusterRoleSelectors ?? [];
  if (selectors.length === 0)
    yield required(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil');
  for (const [index, selector] of selectors.entries()) yield* selectorViolations(selector, `${field}[${index}]`);
}

function* roleRefOf({ apiGroup = '', kind = '', name = '' }: Partial<RoleRef>, kinds: readonly string[]): Found {
  if (apiGroup !== rbacGroup) yield notSupported('roleRef.apiGroup', apiGroup, [rbacGroup]);
  if (!kinds.includes(kind)) yield notSupported('roleRef.kind', kind, kinds);
  if (name === '') yield required('roleRef.name');
  else for (const rule of checkName(name, 'path')) yield invalidField('roleRef.name', name, rule);
}

function* changeOf(next: Partial<RoleRef>, stored: Partial<RoleRef> | undefined): Found {
  if (stored !== undefined && !deepEqual(next, stored)) yield invalidField('roleRef', next, 'cannot change roleRef');
}

function* subjectsOf(subjects: readonly Partial<Subject>[], isNamespaced: boolean): Found {
  for (const [index, subject] of subjects.entries()) yield* subjectOf(subject, `subjects[${index}]`, isNamespaced);
}

function* subjectOf(subject: Partial<Subject>, field: string, isNamespaced: boolean): Found {
  const { kind = '', apiGroup = '', name = '', namespace = '' } = subject;
  if (name === '') yield required(`${field}.name`);
  if (kind === 'ServiceAccount') {
    if (name !== '') for (const rule of checkDnsSubdomain(name)) yield invalidField(`${field}.name`, name, rule);
    if (apiGroup !== '') yield notSupported(`${field}.apiGroup`, apiGroup, ['']);
    if (!isNamespaced && namespace === '') yield required(`${field}.namespace`);
  } else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== rbacGroup) yield notSupported(`${field}.apiGroup`, apiGroup, [rbacGroup]);
  } else yield notSupported(`${field}.kind`, kind, ['Group', 'ServiceAccount', 'User']);
}
