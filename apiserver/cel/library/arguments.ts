import { CelError, noSuchOverload } from '../values/cel-error.ts';
import { CelList } from '../values/cel-value.ts';
import type { CelObject, CelValue } from '../values/cel-value.ts';

type Args = readonly CelValue[];

/**
 * Returns the text at an index of the arguments. The function throws for another type, but this never happens, because
 * the overload was chosen by the types of the arguments.
 */
export function textAt(args: Args, index: number): string {
  const value = args[index];
  if (typeof value === 'string') return value;
  throw noSuchOverload();
}

export function intAt(args: Args, index: number): bigint {
  const value = args[index];
  if (typeof value === 'bigint') return value;
  throw noSuchOverload();
}

export function doubleAt(args: Args, index: number): number {
  const value = args[index];
  if (typeof value === 'number') return value;
  throw noSuchOverload();
}

export function listAt(args: Args, index: number): CelList {
  const value = args[index];
  if (value instanceof CelList) return value;
  throw noSuchOverload();
}

export function objectAt<T extends CelObject>(
  type: abstract new (...given: never[]) => T,
  args: Args,
  index: number,
): T {
  const value = args[index];
  if (value instanceof type) return value;
  throw noSuchOverload();
}

export function itemsOf(list: CelList): readonly CelValue[] {
  return Array.from({ length: list.length }, (_, index) => list.at(index));
}

/** Returns the value if it fits into a signed integer of 64 bits. @throws CelError for any other value */
export function int64(value: bigint): bigint {
  if (BigInt.asIntN(64, value) === value) return value;
  throw new CelError('integer overflow');
}

export function uint64(value: bigint): bigint {
  if (BigInt.asUintN(64, value) === value) return value;
  throw new CelError('unsigned integer overflow');
}
