/**
 * The operator of a requirement. `=` and `==` are parsed as `in` with one value, and `!=` as `notin` with one value.
 */
export type SelectorOperator = 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';

/** One condition of a selector. `gt` and `lt` are for labels only and compare whole numbers. */
export interface Requirement {
  /** The key of a label, or the path of a field. */
  readonly key: string;
  readonly operator: SelectorOperator;
  /** The values, all distinct: none for `exists` and `absent`, and one for `gt` and `lt`. */
  readonly values: readonly string[];
}

/**
 * A list of requirements. A selector selects the objects that meet all of them, so the empty selector selects every
 * object.
 */
export type Selector = readonly Requirement[];

const maxInt64 = 2n ** 63n - 1n;
const digits = /^[0-9]{1,63}$/;

/**
 * Parses a number that the operators `>` and `<` of a selector compare: only digits, at most 2^63 - 1. Returns
 * undefined for any other text.
 */
export function wholeNumber(text: string): bigint | undefined {
  if (!digits.test(text)) return undefined;
  const value = BigInt(text);
  return value <= maxInt64 ? value : undefined;
}
