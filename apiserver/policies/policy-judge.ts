import { deepEqual } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { admissionPolicyKind } from '../builtin/admission-policy-kinds.ts';
import type { AdmissionPolicy } from '../builtin/objects/policy-objects.ts';
import type { KindJudge } from '../registry/rules/kind-judge.ts';
import { compilePolicy } from './compile-policy.ts';

/** Returns the check of policies when they are written: their expressions are compiled. It is undefined for every other kind. */
export function policyJudge(model: ModelDescriptor): KindJudge | undefined {
  const { group, kind } = admissionPolicyKind;
  return model.group === group && model.kind === kind ? judgeExpressions : undefined;
}

const judgeExpressions: KindJudge = function* judgePolicyExpressions(next: ApiObject, stored: ApiObject | undefined) {
  yield 'long';
  if (!isPolicy(next)) return [];
  if (stored !== undefined && isPolicy(stored) && deepEqual(stored.spec, next.spec)) return [];
  return compilePolicy(next).problems;
};

/** The objects were validated by the schema of their kind before. */
function isPolicy(object: ApiObject): object is AdmissionPolicy {
  return 'spec' in object;
}
