import { CelError } from '../values/cel-error.ts';
import type { CelValue } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';

/** The values of the variables of one evaluation, each in its slot, and the meter of its cost. */
export interface Frame {
  readonly slots: (CelValue | undefined)[];
  readonly meter: CostMeter;
}

/** A compiled part of an expression. @throws CelError, and CostLimitError when the evaluation costs too much */
export type Run = (frame: Frame) => CelValue;

/** The cost of an error that `||`, `&&` or a macro may ignore. To throw it takes a few microseconds. */
const errorCost = 200;

/**
 * Returns the error if it is a CelError, and adds {@link errorCost} to the cost of the evaluation, because `||`, `&&`,
 * `all` and `exists` continue after such an error. @throws any other error, which must not be ignored
 */
export function ignorable(error: unknown, { meter }: Frame): CelError {
  if (!(error instanceof CelError)) throw error;
  meter.add(errorCost);
  return error;
}

export function fail(error: Error): never {
  throw error;
}
