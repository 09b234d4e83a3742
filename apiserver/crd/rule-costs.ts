import type { DefinitionViolations } from './definition-violations.ts';

/**
 * The maximum cost of one expression. As in Kubernetes, the cost is estimated for the largest values that the schema
 * allows.
 */
const expressionLimit = 10_000_000;

/** The maximum cost of all expressions of a schema together. */
const totalLimit = 100_000_000;

/** When the total is too high, the error names only rules of at least this cost. */
const namedFrom = totalLimit / 100;

/** When the total is too high, the error names at most this many rules. */
const maxNamed = 4;

/** Adds up the estimated costs of the rules of one schema. */
export class RuleCosts {
  readonly #field: string;
  readonly #violations: DefinitionViolations;
  #total = 0;
  #expensive: { readonly field: string; readonly cost: number }[] = [];

  constructor(field: string, violations: DefinitionViolations) {
    this.#field = field;
    this.#violations = violations;
  }

  add(field: string, part: 'rule' | 'messageExpression', cost: number): void {
    if (cost > expressionLimit)
      this.#violations.forbidden(field, tooExpensive(`estimated ${part} cost`, cost / expressionLimit));
    this.#total += cost;
    if (cost < namedFrom) return;
    this.#expensive = [...this.#expensive, { field, cost }].sort((a, b) => b.cost - a.cost).slice(0, maxNamed);
  }

  checkTotal(): void {
    if (this.#total <= totalLimit) return;
    for (const { field } of this.#expensive)
      this.#violations.forbidden(
        field,
        'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      );
    const name = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    this.#violations.forbidden(this.#field, tooExpensive(name, this.#total / totalLimit));
  }
}

function tooExpensive(name: string, factor: number): string {
  const shown = factor > 100 ? 'more than 100x' : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`;
  return `${name} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
