import { ModelError } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldCause, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { judgeRules } from '../../cel/rules/judge-rules.ts';
import { compileRuleTree } from '../../cel/rules/rule-tree.ts';
import type { RuleNode } from '../../cel/rules/rule-tree.ts';
import type { SchemaOrigin } from '../../schema/judge/validator.ts';
import type { Steps } from '../../turns/steps.ts';

/**
 * Evaluates the CEL rules of a schema. `judged` are the violations that the schema itself has already found; the result
 * contains them as well. Adds warnings to `warnings`.
 */
export type ExpressionJudge = (
  states: { readonly next: ApiObject; readonly previous: ApiObject | undefined },
  judged: readonly FieldCause[],
  warnings: string[],
) => Steps<readonly FieldCause[]>;

/** The reasons of violations after which no rule is evaluated: values may be missing, too large or of a wrong type. */
const blocking: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const notChecked: FieldCause = {
  reason: 'FieldValueInvalid',
  field: '<nil>',
  message:
    'Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

/**
 * The compiled rules of models whose `components` are frozen, by the object `components` and the name of the model's
 * schema. All servers of a process share these rules.
 */
const compiled = new WeakMap<object, Map<string, RuleNode | undefined>>();

/**
 * Compiles the rules of a model's schema; returns undefined when it has none. @throws ModelError for an invalid rule of
 * a model in code. A client's definition was checked when it was written. If one of its rules is invalid nevertheless,
 * writes of the definition's objects are refused.
 */
export function expressionJudge(model: ModelDescriptor, origin: SchemaOrigin): ExpressionJudge | undefined {
  const root = ruleTreeOf(model, origin);
  if (root === undefined) return undefined;
  return function* judgeExpressions({ next, previous }, judged, warnings) {
    if (judged.some(({ reason }) => blocking.has(reason))) return [...judged, notChecked];
    const verdict = yield* judgeRules(root, next, previous);
    for (const { field = '', message } of verdict.warnings) warnings.push(`${field}: ${message}`);
    return [...judged, ...verdict.causes];
  };
}

function ruleTreeOf(model: ModelDescriptor, origin: SchemaOrigin): RuleNode | undefined {
  const { components, schemaName } = model;
  if (!Object.isFrozen(components)) return compiledRules(model, origin);
  const known = compiled.get(components) ?? new Map<string, RuleNode | undefined>();
  compiled.set(components, known);
  if (!known.has(schemaName)) known.set(schemaName, compiledRules(model, origin));
  return known.get(schemaName);
}

function compiledRules({ kind, components, schemaName }: ModelDescriptor, origin: SchemaOrigin): RuleNode | undefined {
  const schema = components[schemaName];
  if (schema === undefined) return undefined;
  return compileRuleTree(schema, components, (field, detail) => {
    if (origin === 'code') throw new ModelError(kind, field === '' ? 'rules' : `${field} rules`, detail);
  });
}
