import { CelError, CostLimitError } from '../cel/values/cel-error.ts';
import { CelMap } from '../cel/values/cel-value.ts';
import type { CelValue } from '../cel/values/cel-value.ts';
import { CostMeter } from '../cel/values/cost-meter.ts';
import type { CelExpression } from '../cel/evaluate/cel-expression.ts';
import type { Compiled } from './compile-policy.ts';

/** The maximum cost of one expression. */
const callLimit = 1_000_000;

/** The values of the variables that expressions read, in the order in which the variables are declared. */
export type EvaluationValues = readonly (CelValue | undefined)[];

/** The result of the evaluation of an expression. */
export type EvaluationOutcome = { readonly value: CelValue } | { readonly error: string };

export function isError(outcome: EvaluationOutcome): outcome is { readonly error: string } {
  return 'error' in outcome;
}

/**
 * The cost that all expressions of one policy may have together, for one write with one binding and one parameter
 * object.
 */
export class Budget {
  left: number;
  readonly #pause: (cost: number) => Promise<void> | undefined;

  /** Creates a budget. `pause` is called with the cost of each expression, and may let other requests run. */
  constructor(limit: number, pause: (cost: number) => Promise<void> | undefined) {
    this.left = limit;
    this.#pause = pause;
  }

  /** Evaluates an expression, and then calls `pause`. The result is an error once the budget is used up. */
  async evaluate(expression: CelExpression, values: EvaluationValues): Promise<EvaluationOutcome> {
    const before = this.left;
    const outcome = this.evaluateNow(expression, values);
    await this.#pause(before - this.left);
    return outcome;
  }

  /**
   * Evaluates an expression without a pause. It is for variables, which are evaluated when an expression reads them.
   */
  evaluateNow(expression: CelExpression, values: EvaluationValues): EvaluationOutcome {
    const meter = new CostMeter(callLimit);
    const outcome = outcomeOf(expression, values, meter);
    this.left -= meter.spent;
    if (this.left < 0)
      return { error: 'validation failed due to running out of cost budget, no further validation rules will be run' };
    return outcome;
  }
}

function outcomeOf(expression: CelExpression, values: EvaluationValues, meter: CostMeter): EvaluationOutcome {
  const { source } = expression;
  try {
    return { value: expression.evaluate(values, meter) };
  } catch (error) {
    if (error instanceof CostLimitError)
      return {
        error: `validation failed due to running out of cost budget, no further validation rules will be run: ${source}`,
      };
    if (error instanceof CelError) return { error: `expression '${source}' resulted in error: ${error.message}` };
    throw error;
  }
}

/** The value of `variables`. Each variable is evaluated when it is first read. */
export class LazyVariables extends CelMap {
  readonly #variables: ReadonlyMap<string, CelExpression>;
  readonly #values: () => EvaluationValues;
  readonly #budget: Budget;
  readonly #known = new Map<string, EvaluationOutcome>();

  constructor(
    variables: readonly Compiled<{ readonly name: string }>[],
    values: () => EvaluationValues,
    budget: Budget,
  ) {
    super();
    this.#variables = new Map(variables.map(({ of, expression }) => [of.name, expression]));
    this.#values = values;
    this.#budget = budget;
  }

  get size(): number {
    return this.#variables.size;
  }

  get(key: CelValue): CelValue | undefined {
    const expression = typeof key === 'string' ? this.#variables.get(key) : undefined;
    if (typeof key !== 'string' || expression === undefined) return undefined;
    const outcome = this.#known.get(key) ?? this.#budget.evaluateNow(expression, this.#values());
    this.#known.set(key, outcome);
    if (isError(outcome)) throw new CelError(`composited variable "${key}" fails to evaluate: ${outcome.error}`);
    return outcome.value;
  }

  keys(): readonly CelValue[] {
    return [...this.#variables.keys()];
  }
}
