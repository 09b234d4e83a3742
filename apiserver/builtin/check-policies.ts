import { checkQualifiedName } from '@homeostat/controller-runtime/api';
import type { FieldViolation } from '@homeostat/controller-runtime/api';
import { checkRule, choiceViolations, conditionsOf } from './check-webhooks.ts';
import {
  duplicate,
  forbiddenField,
  invalidField,
  isEmptyList,
  required,
  selectorViolations,
} from './field-violations.ts';
import type { AdmissionPolicy, AdmissionPolicyBinding, MatchResources } from './objects/policy-objects.ts';

type Found = Generator<FieldViolation>;

/** The maximum number of validations and variables of one policy, counted together. */
const maxExpressions = 1000;

/** The maximum number of audit annotations of one policy, as in Kubernetes. */
const maxAuditAnnotations = 20;

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized'];
const actions = ['Audit', 'Deny', 'Warn'];

/** Checks a policy by Kubernetes' rules, except those for the content of expressions, and returns the violations. */
export function checkPolicy(policy: AdmissionPolicy): readonly FieldViolation[] {
  return [...policyOf(policy)];
}

/** Checks a binding by Kubernetes' rules, and returns the violations. */
export function checkPolicyBinding(binding: AdmissionPolicyBinding): readonly FieldViolation[] {
  return [...bindingOf(binding)];
}

function* policyOf({ spec }: AdmissionPolicy): Found {
  const { paramKind, matchConstraints, validations = [], auditAnnotations = [], variables = [] } = spec;
  if (paramKind?.apiVersion === '') yield required('spec.paramKind.apiVersion');
  if (paramKind?.kind === '') yield required('spec.paramKind.kind');
  if (matchConstraints === undefined) yield required('spec.matchConstraints');
  else yield* matchOf(matchConstraints, 'spec.matchConstraints', true);
  yield* choiceViolations(spec.failurePolicy, 'spec.failurePolicy', ['Fail', 'Ignore']);
  yield* conditionsOf(spec, 'spec.matchConditions');
  if (validations.length + variables.length > maxExpressions)
    return void (yield tooMany('spec.validations', validations.length + variables.length, maxExpressions));
  if (isEmptyList(validations) && isEmptyList(auditAnnotations))
    yield required('spec.validations', 'validations or auditAnnotations must contain at least one item');
  yield* variablesOf(spec);
  yield* validationsOf(spec);
  if (auditAnnotations.length > maxAuditAnnotations)
    return void (yield tooMany('spec.auditAnnotations', auditAnnotations.length, maxAuditAnnotations));
  yield* annotationsOf(spec);
}

function tooMany(field: string, count: number, most: number): FieldViolation {
  return { reason: 'FieldValueTooMany', field, message: `Too many: ${count}: must have at most ${most} items` };
}

function* variablesOf({ variables = [] }: AdmissionPolicy['spec']): Found {
  for (const [index, { name, expression }] of variables.entries()) {
    const field = `spec.variables[${index}]`;
    if (name === '') yield required(`${field}.name`, 'name is not specified');
    else if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      yield invalidField(`${field}.name`, name, 'name is not a valid CEL identifier');
    if (expression.trim() === '') yield required(`${field}.expression`, 'expression is not specified');
  }
}

function* validationsOf({ validations = [] }: AdmissionPolicy['spec']): Found {
  for (const [index, { expression, message = '', messageExpression, reason }] of validations.entries()) {
    const field = `spec.validations[${index}]`;
    if (expression.trim() === '') yield required(`${field}.expression`, 'expression is not specified');
    if (messageExpression?.trim() === '')
      yield invalidField(`${field}.messageExpression`, messageExpression, 'must be non-empty if specified');
    if (message !== '' && message.trim() === '')
      yield invalidField(`${field}.message`, message, 'message must be non-empty if specified');
    else if (message.trim().includes('\n'))
      yield invalidField(`${field}.message`, message, 'message must not contain line breaks');
    else if (expression.trim().includes('\n') && message.trim() === '')
      yield required(`${field}.message`, 'message must be specified if expression contains line breaks');
    yield* choiceViolations(reason, `${field}.reason`, reasons);
  }
}

function* annotationsOf({ auditAnnotations = [] }: AdmissionPolicy['spec']): Found {
  const keys = new Set<string>();
  for (const [index, { key, valueExpression }] of auditAnnotations.entries()) {
    const field = `spec.auditAnnotations[${index}]`;
    if (key === '') yield required(`${field}.key`);
    else for (const rule of checkQualifiedName(`policy/${key}`)) yield invalidField(`${field}.key`, key, rule);
    if (keys.has(key)) yield duplicate(`${field}.key`, key);
    keys.add(key);
    if (valueExpression.trim() === '') yield required(`${field}.valueExpression`, 'valueExpression is not specified');
  }
}

function* matchOf(match: MatchResources, field: string, needsRules: boolean): Found {
  const { resourceRules = [], excludeResourceRules = [] } = match;
  if (needsRules && resourceRules.length === 0) yield required(`${field}.resourceRules`);
  yield* choiceViolations(match.matchPolicy, `${field}.matchPolicy`, ['Equivalent', 'Exact']);
  yield* selectorViolations(match.namespaceSelector ?? {}, `${field}.namespaceSelector`);
  yield* selectorViolations(match.objectSelector ?? {}, `${field}.objectSelector`);
  for (const [index, rule] of resourceRules.entries()) yield* checkRule(rule, `${field}.resourceRules[${index}]`);
  for (const [index, rule] of excludeResourceRules.entries())
    yield* checkRule(rule, `${field}.excludeResourceRules[${index}]`);
}

function* bindingOf({ spec }: AdmissionPolicyBinding): Found {
  const { policyName, paramRef, matchResources, validationActions = [] } = spec;
  if (policyName === '') yield required('spec.policyName');
  if (paramRef !== undefined) yield* paramsOf(paramRef);
  if (matchResources !== undefined) yield* matchOf(matchResources, 'spec.matchResources', false);
  if (validationActions.length === 0)
    yield required('spec.validationActions', 'at least one validation action is required');
  for (const [index, action] of validationActions.entries())
    yield* choiceViolations(action, `spec.validationActions[${index}]`, actions);
  if (validationActions.includes('Deny') && validationActions.includes('Warn'))
    yield invalidField(
      'spec.validationActions',
      validationActions,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    );
}

function* paramsOf({
  name,
  selector,
  parameterNotFoundAction,
}: NonNullable<AdmissionPolicyBinding['spec']['paramRef']>): Found {
  const field = 'spec.paramRef';
  if ((name === undefined || name === '') && selector === undefined)
    yield required(field, 'one of name or selector must be specified');
  else if (name !== undefined && name !== '' && selector !== undefined)
    yield forbiddenField(`${field}.name`, 'name and selector are mutually exclusive');
  if (selector !== undefined) yield* selectorViolations(selector, `${field}.selector`);
  if (parameterNotFoundAction === undefined || parameterNotFoundAction === '')
    yield required(`${field}.parameterNotFoundAction`);
  else yield* choiceViolations(parameterNotFoundAction, `${field}.parameterNotFoundAction`, ['Deny', 'Allow']);
}
