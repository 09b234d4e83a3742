import type { FunctionTable } from '../types/cel-function.ts';
import type { CelType } from '../types/cel-type.ts';
import { checkCel } from '../check/checker.ts';
import type { CheckedCel } from '../check/checker.ts';
import { checkLiterals } from '../check/check-literals.ts';
import { estimateCost } from '../cost/estimate-cost.ts';
import type { CelValue } from '../values/cel-value.ts';
import { typeValues } from '../types/type-values.ts';
import { Compiler } from './compile.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import { CelSyntaxError, formatIssues } from '../syntax/cel-issue.ts';
import type { CelIssue } from '../syntax/cel-issue.ts';
import type { CelNode } from '../syntax/cel-node.ts';
import { parseCel } from '../syntax/parser.ts';

/** The functions and variables that expressions may use. */
export interface CelScope {
  readonly functions: FunctionTable;
  /**
   * The variables and their types. An evaluation receives the values in the same order. A variable whose type is
   * undefined keeps its position in this order, but expressions cannot use it.
   */
  readonly variables: ReadonlyMap<string, CelType | undefined>;
}

/** A compiled expression, which can be evaluated many times. */
export interface CelExpression {
  readonly source: string;
  readonly type: CelType;
  /** The variables that the expression reads. */
  readonly references: ReadonlySet<string>;
  /** An estimate of the cost with the largest values that the declared types allow, in the units of Kubernetes. */
  readonly maxCost: number;
  /**
   * Evaluates the expression with the values of its variables; undefined stands for an absent variable. `meter` counts
   * the cost of this evaluation.
   * @throws CelError when the evaluation fails
   * @throws CostLimitError when the evaluation costs too much
   */
  evaluate(values: readonly (CelValue | undefined)[], meter: CostMeter): CelValue;
}

/** The mistakes in an expression, in the words of kube-apiserver. */
export interface CelProblem {
  readonly problem: string;
}

export function isCelProblem(result: CelExpression | CelProblem): result is CelProblem {
  return 'problem' in result;
}

/** Parses, checks and compiles an expression. Returns the mistakes if there are any, and never throws. */
export function compileCel(source: string, scope: CelScope): CelExpression | CelProblem {
  const root = parsed(source);
  if ('message' in root) return { problem: formatIssues(source, [root]) };
  const checked = checkCel(root, { ...scope, variables: withTypes(scope.variables) });
  if (!('type' in checked)) return { problem: formatIssues(source, checked) };
  const issues = checkLiterals(root, checked.typeOf);
  if (issues.length > 0) return { problem: formatIssues(source, issues) };
  return expressionOf(source, { root, checked, variables: [...scope.variables.keys()] });
}

function parsed(source: string): CelNode | CelIssue {
  try {
    return parseCel(source);
  } catch (error) {
    if (error instanceof CelSyntaxError) return error.issue;
    throw error;
  }
}

interface Parts {
  readonly root: CelNode;
  readonly checked: CheckedCel;
  readonly variables: readonly string[];
}

function expressionOf(source: string, { root, checked, variables }: Parts): CelExpression {
  const compiler = new Compiler(checked, variables, typeValues);
  const run = compiler.compile(root);
  const { slots } = compiler;
  return {
    source,
    type: checked.type,
    references: checked.references,
    maxCost: estimateCost(root, checked).max,
    evaluate: (values, meter) => run({ slots: slotsOf(values, slots), meter }),
  };
}

/**
 * Returns an array that has its full length from the beginning, because an array that grows takes several times the
 * memory.
 */
function slotsOf(values: readonly (CelValue | undefined)[], count: number): (CelValue | undefined)[] {
  const slots = new Array<CelValue | undefined>(count);
  for (let at = 0; at < values.length; at += 1) slots[at] = values[at];
  return slots;
}

const typeVariables: readonly (readonly [string, CelType])[] = Array.from(typeValues.keys(), (name) => [
  name,
  { kind: 'type', of: { kind: 'dyn' } },
]);

function withTypes(variables: CelScope['variables']): ReadonlyMap<string, CelType> {
  const declared = new Map(typeVariables);
  for (const [name, type] of variables) if (type !== undefined) declared.set(name, type);
  return declared;
}
