import type { FieldViolation } from '@homeostat/controller-runtime/api';
import type { AdmissionPolicy } from '../builtin/objects/policy-objects.ts';
import type { MatchCondition } from '../builtin/objects/webhook-objects.ts';
import { compileCel, isCelProblem } from '../cel/evaluate/cel-expression.ts';
import type { CelExpression } from '../cel/evaluate/cel-expression.ts';
import type { CelType } from '../cel/types/cel-type.ts';
import { policyScope } from './policy-scope.ts';
import type { ScopeParts } from './policy-scope.ts';

/** A compiled expression, and the item of the policy to which it belongs. */
export interface Compiled<T> {
  readonly of: T;
  readonly expression: CelExpression;
}

export interface CompiledValidation {
  readonly of: NonNullable<AdmissionPolicy['spec']['validations']>[number];
  readonly expression: CelExpression;
  readonly message: CelExpression | undefined;
}

/** The compiled expressions of a policy. */
export interface CompiledPolicy {
  readonly conditions: readonly Compiled<MatchCondition>[];
  readonly variables: readonly Compiled<{ readonly name: string }>[];
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly Compiled<NonNullable<AdmissionPolicy['spec']['auditAnnotations']>[number]>[];
  /**
   * The mistakes. A policy with a mistake is not evaluated: it does not allow any write to which it applies, or, with
   * `failurePolicy: Ignore`, it allows all.
   */
  readonly problems: readonly FieldViolation[];
  /** The mistakes of {@link problems} in another form: for each, its field, and only the message of the compiler. */
  readonly mistakes: readonly ExpressionMistake[];
}

/** A mistake in an expression. */
interface ExpressionMistake {
  readonly field: string;
  readonly problem: string;
}

/** The types that an expression may return; an empty list means any type. */
type Results = readonly CelType['kind'][];

const names: Readonly<Partial<Record<CelType['kind'], string>>> = { null: 'null_type' };

/** The types of written objects and of parameters. By default, any type. */
export type PolicyTypes = Pick<ScopeParts, 'object' | 'params'>;

/** Compiles the expressions of a policy. */
export function compilePolicy({ spec }: Pick<AdmissionPolicy, 'spec'>, types: PolicyTypes = {}): CompiledPolicy {
  const { matchConditions = [], variables = [], validations = [], auditAnnotations = [], paramKind } = spec;
  const compiler = new ExpressionCompiler({ hasParams: paramKind !== undefined, ...types });
  const conditions = matchConditions.flatMap((of, index) =>
    compiler.compile(
      `spec.matchConditions[${index}].expression`,
      of.expression,
      { results: ['bool'], hasVariables: false },
      of,
    ),
  );
  const compiled = variables.flatMap((of, index) => {
    const found = compiler.compile(`spec.variables[${index}].expression`, of.expression, { results: [] }, of);
    compiler.declare(of.name, found[0]?.expression.type ?? { kind: 'dyn' });
    return found;
  });
  return {
    conditions,
    variables: compiled,
    validations: validations.flatMap((of, index) => {
      const field = `spec.validations[${index}]`;
      const [message] =
        of.messageExpression === undefined
          ? []
          : compiler.compile(
              `${field}.messageExpression`,
              of.messageExpression,
              { results: ['string'], hasAuthorizer: false },
              of,
            );
      return compiler
        .compile(`${field}.expression`, of.expression, { results: ['bool'] }, of)
        .map((each) => ({ ...each, message: message?.expression }));
    }),
    annotations: auditAnnotations.flatMap((of, index) =>
      compiler.compile(
        `spec.auditAnnotations[${index}].valueExpression`,
        of.valueExpression,
        { results: ['string', 'null'] },
        of,
      ),
    ),
    problems: compiler.problems,
    mistakes: compiler.mistakes,
  };
}

interface Wanted {
  readonly results: Results;
  readonly hasVariables?: boolean;
  readonly hasAuthorizer?: boolean;
}

class ExpressionCompiler {
  readonly problems: FieldViolation[] = [];
  readonly mistakes: ExpressionMistake[] = [];
  readonly #parts: Pick<ScopeParts, 'hasParams'> & PolicyTypes;
  readonly #variables = new Map<string, CelType>();

  constructor(parts: Pick<ScopeParts, 'hasParams'> & PolicyTypes) {
    this.#parts = parts;
  }

  declare(name: string, type: CelType): void {
    this.#variables.set(name, type);
  }

  /** Returns a list with the compiled expression; an empty list if it has a mistake. */
  compile<T>(field: string, source: string, wanted: Wanted, of: T): readonly Compiled<T>[] {
    const { results, hasVariables = true, hasAuthorizer = true } = wanted;
    const variables = hasVariables ? new Map(this.#variables) : new Map<string, CelType>();
    const result = compileCel(source, policyScope({ ...this.#parts, hasAuthorizer, variables }));
    const problem = isCelProblem(result) ? `compilation failed: ${result.problem}` : wrongResult(result.type, results);
    if (problem === undefined && !isCelProblem(result)) return [{ of, expression: result }];
    const message = `Invalid value: ${JSON.stringify(source.slice(0, 1024))}: ${problem ?? ''}`;
    this.mistakes.push({ field, problem: isCelProblem(result) ? result.problem : (problem ?? '') });
    this.problems.push({ reason: 'FieldValueInvalid', field, message });
    return [];
  }
}

function wrongResult({ kind }: CelType, results: Results): string | undefined {
  if (results.length === 0 || results.includes(kind) || kind === 'dyn') return undefined;
  const shown = results.map((each) => names[each] ?? each);
  return shown.length === 1 ? `must evaluate to ${shown[0]}` : `must evaluate to one of [${shown.join(' ')}]`;
}
