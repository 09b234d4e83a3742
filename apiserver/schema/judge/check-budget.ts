/**
 * The maximum work of one check. Applying one schema to a value is one unit, and takes 20 to 40 ns; other work is
 * counted by its time. So a check takes at most 20 to 40 ms.
 */
export const maxWork = 1_000_000;

/** The work of comparing one value of an item with those of all other items, in the units of {@link maxWork}. */
export const workOfComparison = 10;

/**
 * Counts what a check does, in units that the check defines; when they are used up, the check ends. A schema that refers to
 * itself from several branches of anyOf doubles its work with each level of an object, and would never end otherwise.
 */
export class CheckBudget {
  /** True for a check that spends the budget, which is known when the check is compiled. */
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
