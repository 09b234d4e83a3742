import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { maxInteger, typesOf } from './translate-schema.ts';

/** Decimal digits to which multiples are compared, so that 0.3 is a multiple of 0.1. */
export const multipleOfPrecision = 9;

/** Returns the bounds that a number must not reach; undefined where there are none. A boolean makes `minimum` or `maximum` exclusive. */
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

/** True when an integer of this schema would lose digits: JSON numbers are doubles here. */
export function losesDigits(schema: JsonSchema, value: number): boolean {
  return !isExact(value) && typesOf(schema).includes('integer');
}

/** True for a number that is small enough for doubles to hold it exactly. */
export function isExact(value: number): boolean {
  return value <= maxInteger && value >= -maxInteger;
}

export function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  return Math.abs(Math.round(quotient) - quotient) <= 10 ** -multipleOfPrecision;
}

/** True when a number keeps all rules of a schema for numbers, besides its type. */
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
