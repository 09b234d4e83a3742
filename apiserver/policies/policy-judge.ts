import { deepEqual } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { admissionPolicyKind } from '../builtin/admission-policy-kinds.ts';
import { checkPolicy } from '../builtin/check-policies.ts';
import type { AdmissionPolicy } from '../builtin/objects/policy-objects.ts';
import type { KindJudge } from '../registry/rules/kind-judge.ts';
import { compilePolicy } from './compile-policy.ts';

/** The fields of a policy, in the order in which Kubernetes checks them and reports their mistakes. */
const fields = [
  'paramKind',
  'matchConstraints',
  'failurePolicy',
  'matchConditions',
  'variables',
  'validations',
  'auditAnnotations',
];

/**
 * The fields of the items of `matchConditions`, `variables`, `validations` and `auditAnnotations`, in the order in
 * which Kubernetes checks them.
 */
const itemFields = ['name', 'key', 'expression', 'valueExpression', 'messageExpression', 'message', 'reason'];

/**
 * Returns the check of a policy and its expressions, which runs when the policy is written; undefined for every other
 * kind.
 */
export function policyJudge(model: ModelDescriptor): KindJudge | undefined {
  const { group, kind } = admissionPolicyKind;
  return model.group === group && model.kind === kind ? judgeExpressions : undefined;
}

const judgeExpressions: KindJudge = function* judgePolicyExpressions(next: ApiObject, stored: ApiObject | undefined) {
  yield 'long';
  if (!isPolicy(next)) return [];
  if (stored !== undefined && isPolicy(stored) && deepEqual(stored.spec, next.spec)) return [];
  const violations = checkPolicy(next);
  const found = new Set(violations.map(({ field }) => field));
  if (violations.some(({ reason }) => reason === 'FieldValueTooMany')) return violations;
  const problems = compilePolicy(next).problems.filter(({ field }) => !found.has(field));
  return [...violations, ...problems].sort((a, b) => rankOf(a) - rankOf(b));
};

/** Returns the position of a mistake in the order in which Kubernetes reports mistakes. */
function rankOf({ field }: FieldViolation): number {
  const [, name = '', index = '0', child = ''] = /^spec\.(\w+)(?:\[(\d+)\])?(?:\.(\w+))?/.exec(field) ?? [];
  return (fields.indexOf(name) * 10_000 + Number(index)) * 10 + Math.max(itemFields.indexOf(child), 0);
}

/**
 * Returns whether an object is a policy. The check is short, because the schema of its kind has already validated it.
 */
function isPolicy(object: ApiObject): object is AdmissionPolicy {
  return 'spec' in object;
}
