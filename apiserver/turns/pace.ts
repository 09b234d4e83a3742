/** The number of units of work, such as fields of an object, that one step does. A step takes about a millisecond. */
const unitsPerStep = 1_000;

/** Counts the work of a walk through large values, so that the walk can pause at regular intervals. */
export class Pace {
  #units = 0;

  /** Counts units of work. Returns true when the walk has done enough work for one step, and should yield. */
  isStepOver(units = 1): boolean {
    this.#units += units;
    if (this.#units < unitsPerStep) return false;
    this.#units = 0;
    return true;
  }
}
