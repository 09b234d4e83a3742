/**
 * Freezes a JSON value and all it holds, and returns it. It assumes that a frozen value is deeply frozen, so that
 * shared parts cost nothing. Works without recursion: depth is bounded by memory only.
 */
export function freezeDeep<T>(value: T): T {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const child of Object.values(next)) {
      if (typeof child === 'object' && child !== null) open.push(child);
    }
  }
  return value;
}
