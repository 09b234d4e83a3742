/**
 * The maximum work of one check, in units. To apply one schema to one value is one unit, and takes 20 to 40 ns. Other
 * work counts as the number of units that take the same time. So a check takes at most 20 to 40 ms.
 */
export const maxWork = 1_000_000;

/**
 * The work, in units of {@link maxWork}, for each value inside the items of a list whose items must differ: the check
 * compares the value with those of the other items.
 */
export const workOfComparison = 10;

/**
 * Limits the work of a check, in units that the check defines. When the units are used up, the check ends. Without a
 * limit, some checks would take far too long: for a schema that refers to itself in two branches of anyOf, the work
 * doubles with each level of an object.
 */
export class CheckBudget {
  /** True when the check uses the budget. The compilation of the check sets this. */
  isUsed = false;
  readonly #units: number;
  #left: number;

  constructor(units: number) {
    this.#units = units;
    this.#left = units;
  }

  /** Makes all units of the budget available again. It is called before each check. */
  reset(): void {
    this.#left = this.#units;
  }

  /** Uses units of the budget. Returns false when the check has used more units of work than the budget has. */
  spend(units = 1): boolean {
    this.#left -= units;
    return !this.isSpent;
  }

  /** True when the check has used more units of work than the budget has. */
  get isSpent(): boolean {
    return this.#left < 0;
  }
}
