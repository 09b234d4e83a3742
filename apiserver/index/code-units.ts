/** Compares two strings; negative, zero or positive, as for `Array.prototype.sort`. */
export type CompareStrings = (a: string, b: string) => number;

// Below the surrogates, code units and code points order alike.
const wide = /[\ud800-\uffff]/;

/** True when the string holds a code unit for which UTF-16 order may differ from code point order. */
export function isWide(text: string): boolean {
  return wide.test(text);
}

/** By UTF-16 code unit; equal to code point order as long as one of the two strings is not wide. */
export function compareUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
