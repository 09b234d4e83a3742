import type { RuntimeCost } from '../cost/runtime-cost.ts';
import type { CelFunction } from '../types/cel-function.ts';
import type { Run } from './frame.ts';

const relations: ReadonlyMap<string, (left: bigint, right: bigint) => boolean> = new Map([
  ['_==_', (left, right) => left === right],
  ['_!=_', (left, right) => left !== right],
  ['_<_', (left, right) => left < right],
  ['_<=_', (left, right) => left <= right],
  ['_>_', (left, right) => left > right],
  ['_>=_', (left, right) => left >= right],
]);

interface Call {
  readonly name: string;
  readonly left: Run;
  readonly right: Run;
  readonly cost: RuntimeCost;
  readonly run: CelFunction;
}

/** A call with two arguments. Two integers, which most rules compare, are compared without a list of arguments. */
export function compilePair({ name, left, right, cost, run }: Call): Run {
  const holds = relations.get(name);
  return (frame) => {
    const first = left(frame);
    const second = right(frame);
    if (holds !== undefined && typeof first === 'bigint' && typeof second === 'bigint') {
      frame.meter.add(1);
      return holds(first, second);
    }
    const values = [first, second];
    frame.meter.add(cost(values));
    return run(values, frame.meter);
  };
}
