// The surrogates and the code units above them. If one of two strings has none of these, the order of the two strings
// by code units is their order by code points.
const wide = /[\ud800-\uffff]/;

/**
 * True when the string is wide: it has a code unit for which the order of UTF-16 may differ from the order of code
 * points.
 */
export function isWide(text: string): boolean {
  return wide.test(text);
}

/**
 * Compares by UTF-16 code units. A comparison by code points can have another result only if both strings are wide
 * ({@link isWide}).
 */
export function compareUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The fields by which objects with equal sort values are ordered. */
export interface NameOrder {
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Compares by name, then by namespace. Both are always ASCII. */
export function compareNames(a: NameOrder, b: NameOrder): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  if (a.namespace === b.namespace) return 0;
  return compareUnits(a.namespace ?? '', b.namespace ?? '');
}
