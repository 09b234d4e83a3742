/** The operator of a requirement. `=` and `==` are both `in` with one value, `!=` is `notin` with one. */
export type SelectorOperator = 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';

/** One condition of a selector. `gt` and `lt` are for labels only and compare whole numbers. */
export interface Requirement {
  /** The key of a label, or the path of a field. */
  readonly key: string;
  readonly operator: SelectorOperator;
  /** The values, all distinct: none for `exists` and `absent`, and one for `gt` and `lt`. */
  readonly values: readonly string[];
}

/** All requirements must hold; the empty selector selects everything. */
export type Selector = readonly Requirement[];

const maxInt64 = 2n ** 63n - 1n;
const digits = /^[0-9]{1,63}$/;

/** The number in a label's value, for `>` and `<` (a 64-bit integer without sign); undefined for any other text. */
export function wholeNumber(text: string): bigint | undefined {
  if (!digits.test(text)) return undefined;
  const value = BigInt(text);
  return value <= maxInt64 ? value : undefined;
}
