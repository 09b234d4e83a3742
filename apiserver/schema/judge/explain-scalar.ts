import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { CheckBudget } from './check-budget.ts';
import { isLongerThan, isShorterThan } from './code-points.ts';
import type { LinearPatterns } from './linear-pattern.ts';
import { exclusiveBounds, isMultiple, losesDigits } from './number-range.ts';
import { typeBitOf } from './schema-node.ts';
import type { SchemaNode } from './schema-node.ts';
import { maxInteger, typesOf } from './translate-schema.ts';
import type { Violations } from './violations.ts';

/** The maximum number of characters of a pattern that a message shows. */
const maxShownPattern = 1024;

/** Reports a value of a wrong JSON type. 5.0 counts as an integer. */
export function explainType({ schema, types }: SchemaNode, value: unknown, violations: Violations): void {
  if ((typeBitOf(value) & types) === 0) violations.wrongType(jsonTypeOf(value), typesOf(schema).join());
}

export function explainEnum(
  { schema, values, constant }: SchemaNode,
  value: unknown,
  { violations, budget }: { readonly violations: Violations; readonly budget: CheckBudget },
): void {
  if (values?.has(value, budget) === false && !budget.isSpent) violations.notSupported(value, schema.enum ?? []);
  if (constant?.has(value, budget) === false && !budget.isSpent) violations.notSupported(value, [schema.const]);
}

export function explainNumber(schema: JsonSchema, value: number, violations: Violations): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const { above, below } = exclusiveBounds(schema);
  if (minimum !== undefined && exclusiveMinimum !== true && value < minimum) {
    violations.invalid(value, `should be greater than or equal to ${minimum}`);
  }
  if (maximum !== undefined && exclusiveMaximum !== true && value > maximum) {
    violations.invalid(value, `should be less than or equal to ${maximum}`);
  }
  if (above !== undefined && value <= above) violations.invalid(value, `should be greater than ${above}`);
  if (below !== undefined && value >= below) violations.invalid(value, `should be less than ${below}`);
  if (losesDigits(schema, value)) {
    violations.invalid(value, `should be within ${maxInteger} of 0: larger integers lose digits`);
  }
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) {
    violations.invalid(value, `should be a multiple of ${multipleOf}`);
  }
}

interface TextCheck {
  readonly violations: Violations;
  readonly patterns: LinearPatterns;
}

export function explainString(
  { schema, format: isOfFormat }: SchemaNode,
  value: string,
  { violations, patterns }: TextCheck,
): void {
  const { minLength, maxLength, pattern, format } = schema;
  if (minLength !== undefined && isShorterThan(value, minLength)) {
    violations.invalid(value, `should be at least ${minLength} chars long`);
  }
  if (maxLength !== undefined && isLongerThan(value, maxLength)) violations.tooLong(maxLength);
  if (pattern !== undefined && !patterns.matches(pattern, value))
    violations.invalid(value, `should match '${pattern.slice(0, maxShownPattern)}'`);
  if (isOfFormat?.(value) === false) violations.wrongType(value, format ?? '');
}

/** Returns the JSON type of a value. As in Kubernetes, whole numbers have the separate type `integer`. */
function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
