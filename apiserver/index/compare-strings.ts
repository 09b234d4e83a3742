// Below the surrogates, the orders by code unit and by code point are equal.
const wide = /[\ud800-\uffff]/;

/** True when the string holds a code unit for which UTF-16 order may differ from code point order. */
export function isWide(text: string): boolean {
  return wide.test(text);
}

/** Compares by UTF-16 code unit, which equals code point order unless both strings are wide. */
export function compareUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The fields that order objects with equal sort values. */
export interface NameOrder {
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Compares by name, then by namespace. Both are ASCII by rule. */
export function compareNames(a: NameOrder, b: NameOrder): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  if (a.namespace === b.namespace) return 0;
  return compareUnits(a.namespace ?? '', b.namespace ?? '');
}
