import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { FieldCause } from '@homeostat/controller-runtime/api';
import { CheckBudget, maxWork, workOfComparison } from './check-budget.ts';
import { comparedValues } from './distinct.ts';
import { explainList, explainObject } from './explain-container.ts';
import { explainEnum, explainNumber, explainString, explainType } from './explain-scalar.ts';
import type { LinearPatterns } from './linear-pattern.ts';
import type { InPlace, SchemaNode } from './schema-node.ts';
import { Violations } from './violations.ts';

/**
 * The work to create the message of a violation, in units of {@link maxWork}. It counts because the branches of a
 * schema create many messages that are not reported.
 */
const wordingWork = 200;

/** The violation that is reported for a value that takes too long to validate. */
export const tooComplex: readonly FieldCause[] = Object.freeze([
  {
    reason: 'FieldValueInvalid',
    message: 'Invalid value: the object is too complex to be checked against its schema',
  },
]);

type Fields = Readonly<Record<string, unknown>>;

/**
 * Finds the violations of a schema, with the wording of Kubernetes. It is called only for values that the faster check,
 * a gate, has refused. It stops at 100 violations, so that a list of a million wrong items costs as much as a list of a
 * hundred.
 */
export class Explainer {
  readonly #root: SchemaNode;
  readonly #patterns: LinearPatterns;
  readonly #budget = new CheckBudget(maxWork);

  constructor(root: SchemaNode, patterns: LinearPatterns) {
    this.#root = root;
    this.#patterns = patterns;
  }

  /**
   * Returns the violations. If the budget is used up, returns only those found so far, or {@link tooComplex} if there
   * are none.
   */
  explain(value: unknown): readonly FieldCause[] {
    const violations = new Violations();
    this.#budget.reset();
    this.#visit(this.#root, value, violations);
    if (!this.#budget.isSpent || violations.causes.length > 0) return violations.causes;
    return tooComplex;
  }

  #visit(node: SchemaNode, value: unknown, violations: Violations): void {
    if (violations.isFull || !this.#budget.spend() || (value === null && node.isNullable)) return;
    const before = violations.causes.length;
    explainType(node, value, violations);
    explainEnum(node, value, { violations, budget: this.#budget });
    if (typeof value === 'number') explainNumber(node.schema, value, violations);
    else if (typeof value === 'string') this.#visitText(node, value, violations);
    else if (Array.isArray(value)) this.#visitList(node, value, violations);
    else if (isJsonObject(value)) this.#visitObject(node, value, violations);
    if (node.inPlace !== undefined) this.#visitInPlace(node.inPlace.value, value, violations);
    this.#budget.spend(wordingWork * (violations.causes.length - before));
  }

  #visitText(node: SchemaNode, text: string, violations: Violations): void {
    if (node.judgesText && this.#budget.spend(text.length / 4))
      explainString(node, text, { violations, patterns: this.#patterns });
  }

  #visitList(node: SchemaNode, list: readonly unknown[], violations: Violations): void {
    if (this.#mayCompare(node, list)) explainList(node, list, violations);
    const items = node.items?.value;
    if (items === undefined) return;
    const { path } = violations;
    for (let index = 0; index < list.length && !violations.isFull && !this.#budget.isSpent; index += 1) {
      path.push(index);
      this.#visit(items, list[index], violations);
      path.pop();
    }
  }

  #mayCompare({ identity }: SchemaNode, list: readonly unknown[]): boolean {
    if (identity === undefined) return true;
    return this.#budget.spend(5 * list.length + workOfComparison * comparedValues(list, identity));
  }

  #visitObject(node: SchemaNode, fields: Fields, violations: Violations): void {
    const names = node.judgesFields ? Object.keys(fields) : [];
    if (!this.#budget.spend(node.required.length + names.length)) return;
    explainObject(node, fields, violations);
    const { path } = violations;
    const additional = node.additional?.value;
    for (const name of names) {
      if (violations.isFull || this.#budget.isSpent) return;
      const child = node.property(name) ?? additional;
      if (child === undefined) continue;
      path.push(name);
      this.#visit(child, fields[name], violations);
      path.pop();
    }
  }

  #visitInPlace({ reference, allOf, anyOf, oneOf, not }: InPlace, value: unknown, violations: Violations): void {
    if (reference !== undefined) this.#visit(reference, value, violations);
    for (const branch of allOf) this.#visit(branch, value, violations);
    if (anyOf !== undefined) this.#visitAny(anyOf, value, violations);
    if (oneOf !== undefined) this.#visitOne(oneOf, value, violations);
    if (not === undefined) return;
    const isMet = this.#branch(not, value, violations).length === 0;
    if (isMet && !this.#budget.isSpent) violations.unfit('must not validate the schema (not)');
  }

  #visitAny(branches: readonly SchemaNode[], value: unknown, violations: Violations): void {
    const results = branches.map((branch) => this.#branch(branch, value, violations));
    if (this.#budget.isSpent || results.some((causes) => causes.length === 0)) return;
    violations.unfit('must validate at least one schema (anyOf)');
    violations.addAll(closest(results));
  }

  #visitOne(branches: readonly SchemaNode[], value: unknown, violations: Violations): void {
    const results = branches.map((branch) => this.#branch(branch, value, violations));
    const valid = results.filter((causes) => causes.length === 0).length;
    // When the budget is used up, branches are no longer checked and have no violations, so the number of valid
    // branches is unknown.
    if (valid === 1 || this.#budget.isSpent) return;
    const found = valid === 0 ? 'none valid' : `${valid} valid alternatives`;
    violations.unfit(`must validate one and only one schema (oneOf). Found ${found}`);
    if (valid === 0) violations.addAll(closest(results));
  }

  #branch(node: SchemaNode, value: unknown, { path }: Violations): readonly FieldCause[] {
    const violations = new Violations(path);
    this.#visit(node, value, violations);
    return violations.causes;
  }
}

/** Returns the violations of the branch that has the fewest violations; of several such branches, the first one. */
function closest(results: readonly (readonly FieldCause[])[]): readonly FieldCause[] {
  return results.reduce((best, causes) => (causes.length < best.length ? causes : best));
}
