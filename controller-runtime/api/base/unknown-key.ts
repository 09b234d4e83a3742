/** The maximum edit distance between a misspelt key and the key that the message suggests. */
const maxDistance = 2;

/**
 * Returns a message about the first key of `value` that is not in `known`:
 * `unknown key "uniqe". Did you mean "unique"?`. If no known key is similar, the message lists the known keys instead.
 * Returns undefined when all keys are known. A key counts as present even if its value is undefined.
 */
export function unknownKeyOf(value: object, known: readonly string[]): string | undefined {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  return unknown === undefined ? undefined : unknownKeyMessage(unknown, known);
}

/** Returns the message of {@link unknownKeyOf} for one key that is not known. */
export function unknownKeyMessage(key: string, known: readonly string[]): string {
  const near = nearestKey(key, known);
  const hint = near === undefined ? `The keys are ${known.join(', ')}.` : `Did you mean "${near}"?`;
  return `unknown key ${JSON.stringify(key.slice(0, 64))}. ${hint}`;
}

/** Returns the known key that is most similar to a misspelt key; undefined when none is similar. */
export function nearestKey(key: string, known: readonly string[]): string | undefined {
  if (key.length > 64) return undefined;
  const distances = known.map((each) => ({ each, distance: editDistance(key.toLowerCase(), each.toLowerCase()) }));
  const [best] = distances.sort((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= Math.min(maxDistance, best.each.length / 2) ? best.each : undefined;
}

/**
 * Returns the Levenshtein distance: the smallest number of insertions, deletions and replacements of one character that
 * turn `a` into `b`.
 */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let index = 0; index < a.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (a[index] === b[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
