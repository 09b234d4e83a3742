import { CostLimitError } from './cel-error.ts';

/**
 * Counts the cost of one evaluation in the units of Kubernetes. A unit takes this interpreter about 30 ns. A unit never
 * takes much longer, because this meter also counts work that Kubernetes does not count, such as reading a long text to
 * its end.
 */
export class CostMeter {
  readonly limit: number;
  spent = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Adds to the cost of the evaluation. @throws CostLimitError when the cost exceeds the limit */
  add(units: number): void {
    this.spent += units;
    if (this.spent > this.limit) throw new CostLimitError();
  }
}
