/**
 * Counts the references that a check follows; when they are used up, no reference is met. A schema that refers to itself
 * from several branches of anyOf doubles its work with each level of an object, and would never end otherwise.
 */
export class CheckBudget {
  readonly #references: number;
  #left: number;

  constructor(references: number) {
    this.#references = references;
    this.#left = references;
  }

  /** Before each check. */
  reset(): void {
    this.#left = this.#references;
  }

  /** False when there is nothing left. */
  spend(): boolean {
    this.#left -= 1;
    return this.#left >= 0;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }
}
