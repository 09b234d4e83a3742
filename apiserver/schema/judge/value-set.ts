import type { CheckBudget } from './check-budget.ts';
import { canonicalJson, countValues } from './distinct.ts';

/** JSON values that are looked up by hash, so that a value costs no more in an enum of 100,000 values than in one of two. */
export class ValueSet {
  readonly #scalars: ReadonlySet<unknown>;
  /** Objects and lists, by their text with sorted keys. */
  readonly #containers: ReadonlySet<string>;
  /** Number of values in the largest member; a larger value is not in the set. */
  readonly #largest: number;

  constructor(values: readonly unknown[]) {
    const containers = values.filter(isContainer);
    this.#scalars = new Set(values.filter((value) => !isContainer(value)));
    this.#containers = new Set(containers.map(canonicalJson));
    this.#largest = containers.reduce((most, value) => Math.max(most, countValues(value, Infinity)), 0);
  }

  /** True when the value is in the set; false when the budget does not suffice to look it up. */
  has(value: unknown, budget: CheckBudget): boolean {
    if (!isContainer(value)) return this.#scalars.has(value);
    if (this.#largest === 0) return false;
    const count = countValues(value, this.#largest);
    return budget.spend(3 * count) && count <= this.#largest && this.#containers.has(canonicalJson(value));
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
