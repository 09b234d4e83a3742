import { deepEqual } from '@homeostat/controller-runtime/api';
import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { isLongerThan, isShorterThan } from './code-points.ts';
import { formats } from './formats.ts';
import type { LinearPatterns } from './linear-pattern.ts';
import { maxInteger, typesOf } from './translate-schema.ts';
import { multipleOfPrecision } from './value-gate.ts';
import type { Violations } from './violations.ts';

/** Wrong JSON type; 5.0 is an integer. */
export function explainType(schema: JsonSchema, value: unknown, violations: Violations): void {
  const expected = typesOf(schema);
  const actual = jsonTypeOf(value);
  const isNumberMet = actual === 'integer' && expected.includes('number');
  if (expected.length > 0 && !expected.includes(actual) && !isNumberMet) violations.wrongType(actual, expected.join());
}

export function explainEnum(schema: JsonSchema, value: unknown, violations: Violations): void {
  if (schema.enum !== undefined && !schema.enum.some((each) => deepEqual(each, value)))
    violations.notSupported(value, schema.enum);
  if ('const' in schema && !deepEqual(schema.const, value)) violations.notSupported(value, [schema.const]);
}

export function explainNumber(schema: JsonSchema, value: number, violations: Violations): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const above =
    typeof exclusiveMinimum === 'number' ? exclusiveMinimum : exclusiveMinimum === true ? minimum : undefined;
  const below =
    typeof exclusiveMaximum === 'number' ? exclusiveMaximum : exclusiveMaximum === true ? maximum : undefined;
  if (minimum !== undefined && exclusiveMinimum !== true && value < minimum) {
    violations.invalid(value, `should be greater than or equal to ${minimum}`);
  }
  if (maximum !== undefined && exclusiveMaximum !== true && value > maximum) {
    violations.invalid(value, `should be less than or equal to ${maximum}`);
  }
  if (above !== undefined && value <= above) violations.invalid(value, `should be greater than ${above}`);
  if (below !== undefined && value >= below) violations.invalid(value, `should be less than ${below}`);
  if (Math.abs(value) > maxInteger && typesOf(schema).includes('integer')) {
    violations.invalid(value, `should be within ${maxInteger} of 0: larger integers lose digits`);
  }
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) {
    violations.invalid(value, `should be a multiple of ${multipleOf}`);
  }
}

export function explainString(
  schema: JsonSchema,
  value: string,
  { violations, patterns }: { readonly violations: Violations; readonly patterns: LinearPatterns },
): void {
  const { minLength, maxLength, pattern, format } = schema;
  if (minLength !== undefined && isShorterThan(value, minLength)) {
    violations.invalid(value, `should be at least ${minLength} chars long`);
  }
  if (maxLength !== undefined && isLongerThan(value, maxLength)) violations.tooLong(maxLength);
  if (pattern !== undefined && !patterns.get(pattern).test(value))
    violations.invalid(value, `should match '${pattern}'`);
  if (format !== undefined && formats.get(format)?.(value) === false) violations.wrongType(value, format);
}

/** Kubernetes tells whole numbers from others. */
function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  return Math.abs(Math.round(quotient) - quotient) <= 10 ** -multipleOfPrecision;
}
