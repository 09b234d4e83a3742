import { isCelProblem, compileCel } from '../evaluate/cel-expression.ts';
import type { CelExpression, CelProblem } from '../evaluate/cel-expression.ts';
import { authorizerOverloads, authorizerType, resourceCheckType } from '../authorizer/authorizer-functions.ts';
import { standardOverloads } from '../library/standard-functions.ts';
import { readAny } from '../schema/json-values.ts';
import { FunctionTable } from '../types/cel-function.ts';
import { celTypes } from '../types/cel-type.ts';
import type { CelValue } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';

/** A condition of a webhook. */
interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/**
 * The functions and variables that conditions of webhooks may use. The order of the variables is that of the values in
 * `match`.
 */
const scope = {
  functions: new FunctionTable([...standardOverloads, ...authorizerOverloads]),
  variables: new Map([
    ['object', celTypes.dyn],
    ['oldObject', celTypes.dyn],
    ['request', celTypes.dyn],
    ['authorizer', authorizerType],
    ['authorizer.requestResource', resourceCheckType],
  ]),
};

/** The request of an AdmissionReview, as conditions read it. */
interface ConditionInput {
  readonly object: unknown;
  readonly oldObject: unknown;
}

/** Returns the mistake in an expression; undefined when it is a valid condition. */
export function conditionProblem(expression: string): string | undefined {
  const compiled = compileCondition(expression);
  return isCelProblem(compiled) ? compiled.problem : undefined;
}

function compileCondition(expression: string): CelExpression | CelProblem {
  const compiled = compileCel(expression, scope);
  if (isCelProblem(compiled)) return { problem: `compilation failed: ${compiled.problem}` };
  const { kind } = compiled.type;
  return kind === 'bool' || kind === 'dyn' ? compiled : { problem: 'must evaluate to bool' };
}

/** The compiled conditions of one webhook. */
export class MatchConditions {
  readonly #conditions: readonly { readonly name: string; readonly expression: CelExpression | CelProblem }[];

  constructor(conditions: readonly MatchCondition[]) {
    this.#conditions = conditions.map(({ name, expression }) => ({ name, expression: compileCondition(expression) }));
  }

  get isEmpty(): boolean {
    return this.#conditions.length === 0;
  }

  /**
   * Returns true when all conditions are true. If a condition is false, returns false, even if others fail.
   * `authorizers` are the values of `authorizer` and `authorizer.requestResource`. @throws Error when a condition fails
   * and no condition is false
   */
  match(request: ConditionInput, authorizers: readonly CelValue[], meter: CostMeter): boolean {
    const values = [readAny(request.object), readAny(request.oldObject), readAny(request), ...authorizers];
    let failure: Error | undefined;
    for (const { name, expression } of this.#conditions) {
      try {
        if (isCelProblem(expression)) throw new Error(expression.problem);
        const value = expression.evaluate(values, meter);
        if (value === false) return false;
        if (value !== true) throw new Error('must evaluate to bool');
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause);
        failure ??= new Error(`matchConditions "${name}" resulted in error: ${why}`, { cause });
      }
    }
    if (failure !== undefined) throw failure;
    return true;
  }
}
