import { readMessage } from '../cel/rules/read-message.ts';
import type { CompiledPolicy, CompiledValidation } from './compile-policy.ts';
import { isError } from './evaluation.ts';
import type { Budget, EvaluationValues } from './evaluation.ts';

/** The maximum length of the value of an annotation in an audit entry. */
const maxAnnotation = 10 * 1024;

/** The reason why a policy does not allow a write. */
export interface PolicyDecision {
  readonly message: string;
  readonly reason: string;
  /**
   * The index of the validation that does not allow the write; 0 for an error of the policy or of its conditions;
   * undefined for an error of an audit annotation, or of the binding.
   */
  readonly index: number | undefined;
}

export interface PolicyEvaluation {
  readonly values: EvaluationValues;
  readonly budget: Budget;
  /** True when expressions with an error allow the write (`failurePolicy: Ignore`). */
  readonly isIgnored: boolean;
  readonly annotate: (key: string, value: string) => void;
}

/** Evaluates the conditions of a policy, then its validations, and then its audit annotations. */
export async function judgePolicy(
  policy: CompiledPolicy,
  evaluation: PolicyEvaluation,
): Promise<readonly PolicyDecision[]> {
  const { isIgnored } = evaluation;
  const [problem] = policy.problems;
  if (problem !== undefined) return isIgnored ? [] : [failed(`${problem.field}: ${problem.message}`, 0)];
  const match = await matches(policy, evaluation);
  if (match !== true) return match === false || isIgnored ? [] : [failed(match, 0)];
  const decisions: PolicyDecision[] = [];
  for (const [index, validation] of policy.validations.entries()) {
    const decision = await validate(validation, index, evaluation);
    if (decision !== undefined) decisions.push(decision);
  }
  await annotateAll(policy, evaluation, decisions);
  return decisions;
}

/**
 * Returns whether all conditions are true, or the error of a condition. An error counts only when no other condition is
 * false.
 */
async function matches(
  { conditions }: CompiledPolicy,
  { values, budget }: PolicyEvaluation,
): Promise<boolean | string> {
  let error: string | undefined;
  for (const { expression } of conditions) {
    const outcome = await budget.evaluate(expression, values);
    if (isError(outcome)) error ??= outcome.error;
    else if (outcome.value !== true) return false;
  }
  return error ?? true;
}

async function validate(
  { of, expression, message }: CompiledValidation,
  index: number,
  { values, budget, isIgnored }: PolicyEvaluation,
): Promise<PolicyDecision | undefined> {
  const outcome = await budget.evaluate(expression, values);
  if (isError(outcome)) return isIgnored ? undefined : failed(outcome.error, index);
  if (outcome.value === true) return undefined;
  const made = message === undefined ? undefined : await budget.evaluate(message, values);
  const text = made === undefined || isError(made) ? undefined : readMessage(made.value);
  const own = of.message?.trim() ?? '';
  const fallback = own === '' ? `failed expression: ${of.expression.trim()}` : own;
  return { message: text ?? fallback, reason: of.reason ?? 'Invalid', index };
}

async function annotateAll(
  { annotations }: CompiledPolicy,
  { values, budget, isIgnored, annotate }: PolicyEvaluation,
  decisions: PolicyDecision[],
): Promise<void> {
  for (const { of, expression } of annotations) {
    const outcome = await budget.evaluate(expression, values);
    if (isError(outcome)) {
      if (!isIgnored) decisions.push({ message: outcome.error, reason: 'Invalid', index: undefined });
    } else if (typeof outcome.value === 'string' && outcome.value.trim() !== '')
      annotate(of.key, outcome.value.trim().slice(0, maxAnnotation));
  }
}

function failed(message: string, index: number): PolicyDecision {
  return { message, reason: 'Invalid', index };
}
