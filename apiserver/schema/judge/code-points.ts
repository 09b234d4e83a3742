/**
 * Returns true for a text of more than `limit` code points. Counts the code points only when the number of UTF-16 units
 * does not decide.
 */
export function isLongerThan(text: string, limit: number): boolean {
  return text.length > limit && (text.length > 2 * limit || countCodePoints(text) > limit);
}

/** Returns true for a text of fewer than `limit` code points. */
export function isShorterThan(text: string, limit: number): boolean {
  return text.length < limit || (text.length < 2 * limit && countCodePoints(text) < limit);
}

function countCodePoints(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index += 1) {
    const isPair = (text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
    if (isPair) {
      count -= 1;
      index += 1;
    }
  }
  return count;
}
