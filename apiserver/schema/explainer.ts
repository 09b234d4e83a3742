import type { FieldCause, JsonSchema } from '@homeostat/controller-runtime/api';
import { CheckBudget } from './check-budget.ts';
import { explainList, explainObject } from './explain-container.ts';
import { explainEnum, explainNumber, explainString, explainType } from './explain-scalar.ts';
import { componentOf } from './translate-schema.ts';
import type { CheckParts } from './value-gate.ts';
import { Violations } from './violations.ts';

/** Fewer than the gate follows: to word a violation of each branch takes some 30 µs. */
const maxReferences = 20_000;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Tells every violation of a schema in Kubernetes' words. It walks only values that the gate has refused, and stops at
 * 100 violations, so that a list of a million wrong items costs what a hundred cost.
 */
export class Explainer {
  readonly #parts: CheckParts;
  readonly #budget = new CheckBudget(maxReferences);

  constructor(parts: CheckParts) {
    this.#parts = parts;
  }

  explain(schema: JsonSchema, value: unknown): readonly FieldCause[] {
    const violations = new Violations();
    this.#budget.reset();
    this.#visit(schema, value, violations);
    if (!this.#budget.isSpent) return violations.causes;
    return [
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: the object is too complex to be checked against its schema',
      },
    ];
  }

  #visit(schema: JsonSchema, value: unknown, violations: Violations): void {
    if (violations.isFull || (value === null && schema.nullable === true)) return;
    explainType(schema, value, violations);
    explainEnum(schema, value, violations);
    if (typeof value === 'number') explainNumber(schema, value, violations);
    if (typeof value === 'string') explainString(schema, value, { violations, patterns: this.#parts.patterns });
    if (Array.isArray(value)) this.#visitList(schema, value, violations);
    else if (typeof value === 'object' && value !== null) this.#visitObject(schema, value as Fields, violations);
    this.#visitCombined(schema, value, violations);
  }

  #visitList(schema: JsonSchema, list: readonly unknown[], violations: Violations): void {
    explainList(schema, list, violations);
    const { items } = schema;
    if (items === undefined) return;
    for (const [index, item] of list.entries()) {
      if (violations.isFull) return;
      violations.at(index, () => this.#visit(items, item, violations));
    }
  }

  #visitObject(schema: JsonSchema, value: Fields, violations: Violations): void {
    explainObject(schema, value, violations);
    const { properties = {}, additionalProperties } = schema;
    for (const [name, child] of Object.entries(properties)) {
      if (Object.hasOwn(value, name)) violations.at(name, () => this.#visit(child, value[name], violations));
    }
    if (typeof additionalProperties !== 'object') return;
    for (const name of Object.keys(value)) {
      if (violations.isFull) return;
      if (!Object.hasOwn(properties, name))
        violations.at(name, () => this.#visit(additionalProperties, value[name], violations));
    }
  }

  #visitCombined(schema: JsonSchema, value: unknown, violations: Violations): void {
    const { $ref, allOf = [], anyOf, oneOf, not } = schema;
    if ($ref !== undefined) this.#visitReference($ref, value, violations);
    for (const branch of allOf) this.#visit(branch, value, violations);
    if (anyOf !== undefined) this.#visitAny(anyOf, value, violations);
    if (oneOf !== undefined) this.#visitOne(oneOf, value, violations);
    if (not !== undefined && this.#branch(not, value, violations).length === 0) {
      violations.unfit('must not validate the schema (not)');
    }
  }

  #visitReference(reference: string, value: unknown, violations: Violations): void {
    const target = this.#parts.components[componentOf(reference)];
    if (target !== undefined && this.#budget.spend()) this.#visit(target, value, violations);
  }

  #visitAny(branches: readonly JsonSchema[], value: unknown, violations: Violations): void {
    const results = branches.map((branch) => this.#branch(branch, value, violations));
    if (results.some((causes) => causes.length === 0)) return;
    violations.unfit('must validate at least one schema (anyOf)');
    violations.addAll(closest(results));
  }

  #visitOne(branches: readonly JsonSchema[], value: unknown, violations: Violations): void {
    const results = branches.map((branch) => this.#branch(branch, value, violations));
    const valid = results.filter((causes) => causes.length === 0).length;
    if (valid === 1) return;
    const found = valid === 0 ? 'none valid' : `${valid} valid alternatives`;
    violations.unfit(`must validate one and only one schema (oneOf). Found ${found}`);
    if (valid === 0) violations.addAll(closest(results));
  }

  #branch(schema: JsonSchema, value: unknown, { path }: Violations): readonly FieldCause[] {
    const violations = new Violations(path);
    this.#visit(schema, value, violations);
    return violations.causes;
  }
}

/** What the branch says that the value misses by the least; the first of several. */
function closest(results: readonly (readonly FieldCause[])[]): readonly FieldCause[] {
  return results.reduce((best, causes) => (causes.length < best.length ? causes : best));
}
