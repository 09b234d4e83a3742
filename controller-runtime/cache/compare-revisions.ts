/**
 * Compares two resourceVersions: negative when `a` is older, 0 when equal. Both must be decimal strings without leading
 * zeros.
 */
export function compareRevisions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}
