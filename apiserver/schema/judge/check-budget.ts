/**
 * The maximum number of schemas that one check applies to values, with other work of the same cost: 20 to 40 ns each,
 * so some 20 to 40 ms.
 */
export const maxWork = 1_000_000;

/** The cost of comparing one value within an item with those of all other items. */
export const workOfComparison = 10;

/**
 * Counts what a check does, in units that the check defines; when they are used up, the check ends. A schema that refers to
 * itself from several branches of anyOf doubles its work with each level of an object, and would never end otherwise.
 */
export class CheckBudget {
  /** True when the check counts. */
  isUsed = false;
  readonly #units: number;
  #left: number;

  constructor(units: number) {
    this.#units = units;
    this.#left = units;
  }

  /** Called before each check. */
  reset(): void {
    this.#left = this.#units;
  }

  /** Uses up a part of the budget; returns false when nothing is left. */
  spend(units = 1): boolean {
    this.#left -= units;
    return this.#left >= 0;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }
}
