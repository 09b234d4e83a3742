import type { Requirement } from '@homeostat/controller-runtime/api';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Condition, ValueTest } from './condition.ts';
import type { KindIndex } from '../kind-index.ts';

const maxInt64 = 2n ** 63n - 1n;

/** Returns the condition of a label requirement on the index `metadata.labels`, whose values are `key=value`. */
export function labelCondition(index: KindIndex, requirement: Requirement): Condition {
  const { operator } = requirement;
  const negated = operator === 'notin' || operator === 'absent';
  return { index, negated, test: testOf(requirement), onePerObject: true };
}

function testOf({ key, operator, values }: Requirement): ValueTest {
  // '>' follows '=' in ASCII, so this is the range of all `key=…`.
  const range = { kind: 'range', from: `${key}=`, to: `${key}>` } as const;
  switch (operator) {
    case 'exists':
    case 'absent':
      return range;
    case 'in':
    case 'notin':
      return { kind: 'listed', values: new Set(values.map((value) => `${key}=${value}`)) };
    case 'gt':
    case 'lt':
      return { ...range, accepts: comparison(operator, key, values[0] ?? '') };
  }
}

/**
 * Returns a function that compares the value of a label with the literal. Throws ApiError BadRequest when the literal
 * is not a whole number from 0 to 2^63-1. As in Kubernetes, a label whose value is not such a number is not selected.
 */
function comparison(operator: 'gt' | 'lt', key: string, literal: string): (pair: string) => boolean {
  const limit = parseWhole(literal);
  if (limit === undefined)
    throw new ApiError(
      'BadRequest',
      `label selector: "${literal}" for "${key}" is not a whole number from 0 to ${maxInt64}`,
    );
  const valueStart = key.length + 1;
  return (pair) => {
    const value = parseWhole(pair.slice(valueStart));
    return value !== undefined && (operator === 'gt' ? value > limit : value < limit);
  };
}

// A number has digits and no sign, because the value of a label cannot start with a sign. It has at most 63 digits,
// because the value of a label has at most 63 characters.
function parseWhole(text: string): bigint | undefined {
  if (!/^\d{1,63}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value <= maxInt64 ? value : undefined;
}
