import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { maxInteger, typesOf } from './translate-schema.ts';

/** The number of decimal digits to which multiples are compared, so that 0.3 counts as a multiple of 0.1. */
export const multipleOfPrecision = 9;

/**
 * Returns the exclusive bounds of a number; undefined for a missing bound. If `exclusiveMinimum` is true, the bound is
 * `minimum`; if it is a number, it is the bound itself. The same applies to `exclusiveMaximum`.
 */
export function exclusiveBounds(schema: JsonSchema): {
  readonly above?: number | undefined;
  readonly below?: number | undefined;
} {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  return {
    above: typeof exclusiveMinimum === 'number' ? exclusiveMinimum : exclusiveMinimum === true ? minimum : undefined,
    below: typeof exclusiveMaximum === 'number' ? exclusiveMaximum : exclusiveMaximum === true ? maximum : undefined,
  };
}

/**
 * Returns true when the schema is for integers (or for integers and strings), and the value is so large that it may
 * have lost digits, because JSON numbers are parsed as doubles.
 */
export function losesDigits(schema: JsonSchema, value: number): boolean {
  return !isExact(value) && typesOf(schema).includes('integer');
}

/** Returns true for a number that is so small that a double represents integers of its size exactly. */
export function isExact(value: number): boolean {
  return value <= maxInteger && value >= -maxInteger;
}

export function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  return Math.abs(Math.round(quotient) - quotient) <= 10 ** -multipleOfPrecision;
}

/** Returns true when a number satisfies all rules of a schema for numbers. Does not check the type. */
export function isInRange(schema: JsonSchema, value: number): boolean {
  const { minimum, maximum, multipleOf } = schema;
  if (minimum !== undefined && value < minimum) return false;
  if (maximum !== undefined && value > maximum) return false;
  if (schema.exclusiveMinimum !== undefined || schema.exclusiveMaximum !== undefined) {
    const { above, below } = exclusiveBounds(schema);
    if ((above !== undefined && value <= above) || (below !== undefined && value >= below)) return false;
  }
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) return false;
  return isExact(value) || !losesDigits(schema, value);
}
