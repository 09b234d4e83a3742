/**
 * The maximum of a cost or size that has no upper limit. Kubernetes counts in 64 bits, and results that are too large
 * become the largest number.
 */
export const unbounded: number = 2 ** 64;

/** A range: the lowest and the highest cost of an expression, or the smallest and the largest size of a value. */
export interface CostRange {
  readonly min: number;
  readonly max: number;
}

export const noCost: CostRange = { min: 0, max: 0 };
export const anySize: CostRange = { min: 0, max: unbounded };

export function fixed(value: number): CostRange {
  return { min: value, max: value };
}

export function plus(...ranges: readonly CostRange[]): CostRange {
  return ranges.reduce((a, b) => ({ min: capped(a.min + b.min), max: capped(a.max + b.max) }), noCost);
}

export function times(a: CostRange, b: CostRange): CostRange {
  return { min: capped(a.min * b.min), max: capped(a.max * b.max) };
}

/** Multiplies a range by a factor, and rounds up. */
export function scaled({ min, max }: CostRange, factor: number): CostRange {
  return { min: capped(Math.ceil(min * factor)), max: capped(Math.ceil(max * factor)) };
}

export function rangeUnion(a: CostRange, b: CostRange): CostRange {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

function capped(value: number): number {
  return Math.min(value, unbounded);
}
