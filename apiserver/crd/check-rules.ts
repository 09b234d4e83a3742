import type { JsonSchema, SchemaRule } from '@homeostat/controller-runtime/api';
import type { CelExpression } from '../cel/evaluate/cel-expression.ts';
import { compileRule, isRuleProblem } from '../cel/rules/compile-rule.ts';
import { readFieldPath } from '../cel/rules/field-path.ts';
import { validationsOf } from '../cel/rules/schema-validations.ts';
import { ruleReasons } from '../cel/rules/shown-rule.ts';
import { leastBytesOf, maxRequestBytes, typeOfSchema } from '../cel/schema/schema-type.ts';
import type { MeasuredWork } from '../turns/in-turns.ts';
import type { DefinitionVersion } from './definition.ts';
import type { DefinitionViolations } from './definition-violations.ts';
import { RuleCosts } from './rule-costs.ts';

/** The maximum number of rules of a definition. The largest published definitions have some 200. */
const maxRules = 5000;

/** The work to check one rule, in units of 5 µs, without the part that depends on the length of its expressions. */
const workPerRule = 40;

/** The number of characters that are compiled in one unit of work. */
const charactersPerUnit = 10;

/** The maximum number of characters that a message quotes from one text of a rule. */
const maxShown = 1024;

/** A schema that may have rules, and its position. */
interface Visit {
  readonly schema: JsonSchema;
  readonly field: string;
  readonly isResource: boolean;
  /**
   * How many values with the schema one object may have; undefined when only the size of a request limits the number.
   */
  readonly cardinality: number | undefined;
  /**
   * The path of the outermost list that contains the schema and is not of the list type `map`; undefined without such a
   * list. The new items of such a list cannot be matched with the stored ones, so rules in it may not read `oldSelf`.
   */
  readonly uncorrelated: string | undefined;
}

/**
 * Checks the CEL rules of a definition with valid schemas: the fields of each rule, the types in its expressions, and
 * the cost of its expressions. Yields the work done, in units of about 5 µs.
 */
export function* checkRules(
  versions: readonly DefinitionVersion[],
  violations: DefinitionViolations,
): MeasuredWork<void> {
  const places = placesOf(versions);
  let count = 0;
  for (const [index, { schema }] of versions.entries()) {
    const root = schema?.openAPIV3Schema;
    const field = places[index];
    if (root === undefined || field === undefined) continue;
    const costs = new RuleCosts(field, violations);
    const open: Visit[] = [{ schema: root, field, isResource: true, cardinality: 1, uncorrelated: undefined }];
    for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
      const rules = validationsOf(visit.schema);
      count += rules.length;
      if (count > maxRules) return violations.tooMany(field, count, maxRules);
      yield 1;
      if (rules.length > 0) yield* checkSchemaRules(visit, { rules, violations, costs });
      open.push(...childrenOf(visit).toReversed());
    }
    costs.checkTotal();
  }
}

/**
 * Returns the path by which messages name each version's schema; undefined for a schema that is not checked. If all
 * versions have the same schema, only the first is checked, under the path spec.validation, as in Kubernetes.
 */
function placesOf(versions: readonly DefinitionVersion[]): readonly (string | undefined)[] {
  const texts = versions.map(({ schema }) => JSON.stringify(schema?.openAPIV3Schema));
  if (texts.every((text) => text === texts[0]))
    return versions.map((_, index) => (index === 0 ? 'spec.validation.openAPIV3Schema' : undefined));
  return versions.map((_, index) => `spec.versions[${index}].schema.openAPIV3Schema`);
}

interface Check {
  readonly rules: readonly SchemaRule[];
  readonly violations: DefinitionViolations;
  readonly costs: RuleCosts;
}

function* checkSchemaRules(visit: Visit, { rules, violations, costs }: Check): MeasuredWork<void> {
  const { schema, field, isResource } = visit;
  const before = violations.found.length;
  for (const [index, rule] of rules.entries())
    checkForm(`${field}.x-kubernetes-validations[${index}]`, rule, { schema, violations });
  const type = typeOfSchema(schema, {}, isResource);
  if (violations.found.length > before) return;
  if (type === undefined)
    return violations.invalid(
      `${field}.x-kubernetes-validations`,
      schema.type ?? '',
      'rules cannot read values of this schema: the schema, its items and its fields must each have a type',
    );
  const most = Math.floor(maxRequestBytes / (leastBytesOf(schema, {}, isResource) + 1));
  for (const [index, rule] of rules.entries()) {
    const place = `${field}.x-kubernetes-validations[${index}]`;
    yield workPerRule + (rule.rule.length + (rule.messageExpression?.length ?? 0)) / charactersPerUnit;
    const compiled = compileRule(rule, type, { schema, components: {} });
    if (isRuleProblem(compiled)) {
      violations.add({
        reason: 'FieldValueInvalid',
        field: `${place}.${compiled.part}`,
        message: `Invalid value: ${showRule(rule)}: ${compiled.detail}`,
      });
      continue;
    }
    costs.add(`${place}.rule`, 'rule', costOf(compiled.condition, visit, most));
    if (compiled.message !== undefined)
      costs.add(`${place}.messageExpression`, 'messageExpression', compiled.message.maxCost);
    checkTransition(place, rule, { visit, usesOldSelf: compiled.usesOldSelf, violations });
  }
}

function costOf({ maxCost }: CelExpression, { cardinality }: Visit, most: number): number {
  return maxCost * (cardinality ?? most);
}

interface Transition {
  readonly visit: Visit;
  readonly usesOldSelf: boolean;
  readonly violations: DefinitionViolations;
}

/**
 * Checks that a rule reads `oldSelf` only where the value before the write can be found, and that it has
 * `optionalOldSelf` only if it reads `oldSelf`.
 */
function checkTransition(place: string, rule: SchemaRule, { visit, usesOldSelf, violations }: Transition): void {
  const { uncorrelated } = visit;
  if (usesOldSelf && uncorrelated !== undefined)
    violations.invalid(
      `${place}.rule`,
      rule.rule,
      `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`,
    );
  if (!usesOldSelf && rule.optionalOldSelf !== undefined)
    violations.invalid(
      `${place}.optionalOldSelf`,
      rule.optionalOldSelf,
      'may not be set if oldSelf is not used in rule',
    );
}

/** Checks all parts of a rule except `optionalOldSelf` and the meaning of its expressions. */
function checkForm(
  place: string,
  rule: SchemaRule,
  { schema, violations }: { readonly schema: JsonSchema; readonly violations: DefinitionViolations },
): void {
  const { message = '', messageExpression, reason, fieldPath = '' } = rule;
  const hasLines = (text: string): boolean => /[\n\r]/.test(text);
  if (rule.rule.trim() === '') violations.required(`${place}.rule`, 'rule is not specified');
  else if (message !== '' && message.trim() === '')
    violations.invalid(`${place}.message`, message, 'must be non-empty if specified');
  else if (hasLines(message.trim())) violations.invalid(`${place}.message`, message, 'must not contain line breaks');
  else if (hasLines(rule.rule.trim()) && message.trim() === '')
    violations.required(`${place}.message`, 'message must be specified if rule contains line breaks');
  if (messageExpression !== undefined && messageExpression !== '' && messageExpression.trim() === '')
    violations.required(`${place}.messageExpression`, 'messageExpression must be non-empty if specified');
  if (reason !== undefined && !ruleReasons.includes(reason))
    violations.notSupported(`${place}.reason`, reason, ruleReasons);
  if (fieldPath === '') return;
  if (fieldPath.trim() === '') violations.invalid(`${place}.fieldPath`, fieldPath, 'must be non-empty if specified');
  if (hasLines(fieldPath)) violations.invalid(`${place}.fieldPath`, fieldPath, 'must not contain line breaks');
  if (readFieldPath(fieldPath, schema, {}) === undefined)
    violations.invalid(`${place}.fieldPath`, fieldPath, 'must be a valid path');
}

function childrenOf(visit: Visit): readonly Visit[] {
  const { schema, field, cardinality, uncorrelated } = visit;
  const { properties = {}, items, additionalProperties, maxItems, maxProperties } = schema;
  const times = (most: number | undefined): number | undefined =>
    cardinality === undefined || most === undefined ? undefined : cardinality * most;
  const at = (child: JsonSchema, place: string): Omit<Visit, 'cardinality' | 'uncorrelated'> => ({
    schema: child,
    field: `${field}.${place}`,
    isResource: child['x-kubernetes-embedded-resource'] === true,
  });
  const below = Object.entries(properties).map(([name, child]): Visit => ({
    ...at(child, `properties[${name}]`),
    cardinality,
    uncorrelated,
  }));
  if (items !== undefined) {
    const isList = schema['x-kubernetes-list-type'] === 'map';
    below.push({
      ...at(items, 'items'),
      cardinality: times(maxItems),
      uncorrelated: uncorrelated ?? (isList ? undefined : field),
    });
  }
  if (typeof additionalProperties === 'object')
    below.push({
      ...at(additionalProperties, 'additionalProperties'),
      cardinality: times(maxProperties),
      uncorrelated,
    });
  return below;
}

/** Prints a rule as a Go struct, as messages of kube-apiserver do. */
function showRule({ rule, message, messageExpression, reason, fieldPath, optionalOldSelf }: SchemaRule): string {
  const parts = [
    `Rule:${quoted(rule)}`,
    `Message:${quoted(message)}`,
    `MessageExpression:${quoted(messageExpression)}`,
    `Reason:${reason === undefined ? '(*apiextensions.FieldValueErrorReason)(nil)' : quoted(reason)}`,
    `FieldPath:${quoted(fieldPath)}`,
    `OptionalOldSelf:${optionalOldSelf === undefined ? '(*bool)(nil)' : String(optionalOldSelf)}`,
  ];
  return `apiextensions.ValidationRule{${parts.join(', ')}}`;
}

function quoted(value = ''): string {
  return JSON.stringify(value.slice(0, maxShown));
}
