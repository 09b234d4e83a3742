/** One line of a difference: kept, removed or added. */
interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** A line that both texts have, with its position in each. */
type Pair = readonly [before: number, after: number];

/** The number of unchanged lines that are shown before and after each change. */
const contextLines = 3;

/**
 * The maximum number of changed lines in a shortest difference, because finding it takes time and memory in proportion
 * to the square of this number. If there are more, all lines between the equal start and the equal end of the two texts
 * are shown as removed and added.
 */
const maxEdits = 1000;

/** Returns the hunks of a unified diff of two texts whose lines all end with a newline; '' when they are equal. */
export function unifiedDiff(before: string, after: string): string {
  const lines = linesOf(before.split('\n').slice(0, -1), after.split('\n').slice(0, -1));
  return hunksOf(lines).join('');
}

/** Returns all lines of both texts; in each change, the removed lines come first. */
function linesOf(before: readonly string[], after: readonly string[]): readonly Line[] {
  const lines: Line[] = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...commonLines(before, after), [before.length, after.length] as const]) {
    for (const text of before.slice(x, nextX)) lines.push({ sign: '-', text });
    for (const text of after.slice(y, nextY)) lines.push({ sign: '+', text });
    const kept = before[nextX];
    if (kept !== undefined) lines.push({ sign: ' ', text: kept });
    [x, y] = [nextX + 1, nextY + 1];
  }
  return lines;
}

function hunksOf(lines: readonly Line[]): readonly string[] {
  const changed = lines.flatMap(({ sign }, at) => (sign === ' ' ? [] : [at]));
  const hunks: string[] = [];
  for (let at = 0; at < changed.length;) {
    const from = Math.max((changed[at] ?? 0) - contextLines, 0);
    let last = at;
    while (last + 1 < changed.length && (changed[last + 1] ?? 0) - (changed[last] ?? 0) <= 2 * contextLines + 1)
      last += 1;
    const to = Math.min((changed[last] ?? 0) + contextLines + 1, lines.length);
    hunks.push(hunkOf(lines, from, to));
    at = last + 1;
  }
  return hunks;
}

function hunkOf(lines: readonly Line[], from: number, to: number): string {
  const shown = lines.slice(from, to);
  const range = (left: Line['sign']): string => {
    const count = (some: readonly Line[]): number => some.filter(({ sign }) => sign !== left).length;
    const [start, length] = [count(lines.slice(0, from)), count(shown)];
    // A range without lines has the number of the line before it.
    return `${length === 0 ? start : start + 1},${length}`;
  };
  return `@@ -${range('+')} +${range('-')} @@\n${shown.map(({ sign, text }) => `${sign}${text}\n`).join('')}`;
}

/**
 * Returns the common lines of both texts in order, as positions in both: as many as possible, or only those at the
 * start and the end if the texts differ by more than {@link maxEdits} edits.
 */
function commonLines(before: readonly string[], after: readonly string[]): readonly Pair[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const head = Array.from({ length: start }, (_, at) => [at, at] as const);
  const tail = Array.from({ length: end }, (_, at) => [before.length - end + at, after.length - end + at] as const);
  const middle = shortestEdit(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...head, ...middle.map(([x, y]): Pair => [start + x, start + y]), ...tail];
}

/**
 * Returns the common lines of the shortest edit, or none if it has more than {@link maxEdits} lines. Uses the greedy
 * algorithm of Myers ("An O(ND) Difference Algorithm and Its Variations", 1986). The number of a diagonal is the number
 * of removed lines minus the number of added lines. `reached` has, for each diagonal, the furthest position in `before`
 * to which `edits` edits can lead.
 */
function shortestEdit(before: readonly string[], after: readonly string[]): readonly Pair[] {
  const most = Math.min(before.length + after.length, maxEdits);
  const reached = new Map<number, number>([[1, 0]]);
  const steps: ReadonlyMap<number, number>[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    steps.push(new Map(reached));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const from = comesFrom(reached, edits, diagonal);
      let x = (reached.get(from) ?? 0) + (from < diagonal ? 1 : 0);
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
      reached.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return wayBack(steps, x, diagonal);
    }
  }
  return [];
}

/**
 * Returns the diagonal on which Myers' algorithm was before its last edit. The number of a diagonal is the number of
 * removed lines minus the number of added lines. So the result is `diagonal + 1` if the last edit adds a line, and
 * `diagonal - 1` if it removes a line.
 */
function comesFrom(reached: ReadonlyMap<number, number>, edits: number, diagonal: number): number {
  const [below, above] = [reached.get(diagonal - 1) ?? -1, reached.get(diagonal + 1) ?? -1];
  return diagonal === -edits || (diagonal !== edits && below < above) ? diagonal + 1 : diagonal - 1;
}

function wayBack(steps: readonly ReadonlyMap<number, number>[], endX: number, endDiagonal: number): readonly Pair[] {
  const pairs: Pair[] = [];
  let [x, diagonal] = [endX, endDiagonal];
  for (let edits = steps.length - 1; edits >= 0; edits -= 1) {
    const reached = steps[edits] ?? new Map<number, number>();
    const from = edits === 0 ? 0 : comesFrom(reached, edits, diagonal);
    const fromX = edits === 0 ? 0 : (reached.get(from) ?? 0);
    const start = edits === 0 ? 0 : fromX + (from < diagonal ? 1 : 0);
    for (; x > start; x -= 1) pairs.push([x - 1, x - 1 - diagonal]);
    [x, diagonal] = [fromX, from];
  }
  return pairs.reverse();
}
