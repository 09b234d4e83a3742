import type { JsonSchema, SchemaRule } from '@homeostat/controller-runtime/api';
import { optionalOf } from '../types/cel-type.ts';
import type { CelType } from '../types/cel-type.ts';
import { compileCel, isCelProblem } from '../evaluate/cel-expression.ts';
import type { CelExpression, CelProblem } from '../evaluate/cel-expression.ts';
import { standardFunctions } from '../library/standard-functions.ts';
import type { Components } from '../schema/schema-source.ts';
import { readFieldPath } from './field-path.ts';

/** A compiled rule. An evaluation of its expressions receives the values of `self` and `oldSelf`, in this order. */
export interface CelRule {
  readonly rule: SchemaRule;
  readonly condition: CelExpression;
  readonly message: CelExpression | undefined;
  /**
   * The path, relative to the rule's schema, of the field that messages name; empty for the value of the schema itself.
   */
  readonly fieldPath: readonly string[];
  readonly usesOldSelf: boolean;
}

/** A mistake in a rule. */
export interface RuleProblem {
  readonly part: 'rule' | 'messageExpression';
  readonly detail: string;
}

/**
 * Compiles one rule for the values of a type. Returns the first mistake in its expressions if there is one. A wrong
 * `fieldPath` is not a mistake here: it counts as an empty path.
 */
export function compileRule(
  rule: SchemaRule,
  type: CelType,
  { schema, components }: { readonly schema: JsonSchema; readonly components: Components },
): CelRule | RuleProblem {
  const oldSelf = rule.optionalOldSelf === true ? optionalOf(type) : type;
  const scope = {
    functions: standardFunctions,
    variables: new Map([
      ['self', type],
      ['oldSelf', oldSelf],
    ]),
  };
  const condition = compileCel(rule.rule, scope);
  if (isCelProblem(condition)) return { part: 'rule', detail: `compilation failed: ${condition.problem}` };
  if (condition.type.kind !== 'bool') return { part: 'rule', detail: 'cel expression must evaluate to a bool' };
  const text = rule.messageExpression?.trim() ?? '';
  const message: CelExpression | CelProblem | undefined = text === '' ? undefined : compileCel(text, scope);
  if (message !== undefined && isCelProblem(message))
    return { part: 'messageExpression', detail: `messageExpression compilation failed: ${message.problem}` };
  if (message !== undefined && message.type.kind !== 'string')
    return { part: 'messageExpression', detail: 'messageExpression must evaluate to a string' };
  return {
    rule,
    condition,
    message,
    fieldPath: readFieldPath(rule.fieldPath ?? '', schema, components) ?? [],
    usesOldSelf: condition.references.has('oldSelf'),
  };
}

export function isRuleProblem(result: CelRule | RuleProblem): result is RuleProblem {
  return 'detail' in result;
}
