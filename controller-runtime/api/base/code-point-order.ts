/**
 * Compares two strings by code points. Returns a negative number, 0 or a positive number. (`<` would compare UTF-16
 * code units, and put U+1F600 before U+FF5E.)
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rankOf(left) - rankOf(right);
  }
  return a.length - b.length;
}

// Surrogates (D800-DFFF) represent code points above U+FFFF, so they must come after E000-FFFF.
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
