import type { RuntimeCost } from '../cost/runtime-cost.ts';
import type { CelFunction } from '../types/cel-function.ts';
import type { Run } from './frame.ts';

/** The comparison operators, as numbers. V8 inlines a switch over numbers, but not a call of one of six functions. */
const relations: ReadonlyMap<string, number> = new Map(
  ['_==_', '_!=_', '_<_', '_<=_', '_>_', '_>=_'].map((name, index) => [name, index]),
);

function holds(relation: number, left: bigint, right: bigint): boolean {
  switch (relation) {
    case 0:
      return left === right;
    case 1:
      return left !== right;
    case 2:
      return left < right;
    case 3:
      return left <= right;
    case 4:
      return left > right;
    default:
      return left >= right;
  }
}

interface Call {
  readonly name: string;
  readonly left: Run;
  readonly right: Run;
  readonly cost: RuntimeCost;
  readonly run: CelFunction;
}

/**
 * Compiles a call with two arguments. Most rules compare two integers, so these are compared without a list of
 * arguments.
 */
export function compilePair({ name, left, right, cost, run }: Call): Run {
  const relation = relations.get(name);
  return (frame) => {
    const first = left(frame);
    const second = right(frame);
    if (relation !== undefined && typeof first === 'bigint' && typeof second === 'bigint') {
      frame.meter.add(1);
      return holds(relation, first, second);
    }
    const values = [first, second];
    frame.meter.add(cost(values));
    return run(values, frame.meter);
  };
}
