import type { CheckBudget } from './check-budget.ts';
import { canonicalJson } from './distinct.ts';

/** JSON values that are looked up by hash: an enum of 100,000 values costs one value no more than an enum of two. */
export class ValueSet {
  readonly #scalars: ReadonlySet<unknown>;
  /** Objects and lists, by their text with sorted keys. */
  readonly #containers: ReadonlySet<string>;
  /** Values in the largest of them: a larger one is none of them. */
  readonly #largest: number;

  constructor(values: readonly unknown[]) {
    const containers = values.filter(isContainer);
    this.#scalars = new Set(values.filter((value) => !isContainer(value)));
    this.#containers = new Set(containers.map(canonicalJson));
    this.#largest = containers.reduce((most, value) => Math.max(most, countValues(value, Infinity)), 0);
  }

  /** Whether the value is one of these; false when the budget does not suffice to look it up. */
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

/** The values in an object or a list, itself included; a few more than `most` when they are more than that. */
function countValues(value: unknown, most: number): number {
  if (!isContainer(value)) return 1;
  let count = 1;
  for (const child of Object.values(value)) {
    if (count > most) break;
    count += countValues(child, most - count);
  }
  return count;
}
