import { expect } from 'chai';
import fc from 'fast-check';
import { unifiedDiff } from './unified-diff.ts';

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const numbers = (count: number, prefix = ''): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${at + 1}`);

/**
 * Applies a diff to the lines in `before`. Fails when a context line or a removed line of the diff differs from the
 * line of `before` at this place.
 */
function patch(before: readonly string[], diff: string): readonly string[] {
  const patched = [...before];
  let [at, shift] = [0, 0];
  for (const line of diff.split('\n').slice(0, -1)) {
    const [, start, length] = /^@@ -(\d+),(\d+) \+\d+,\d+ @@$/.exec(line) ?? [];
    if (start !== undefined) at = Number(start) - (length === '0' ? 0 : 1) + shift;
    else if (line.startsWith('+')) {
      patched.splice(at, 0, line.slice(1));
      [at, shift] = [at + 1, shift + 1];
    } else {
      expect(patched[at]).to.equal(line.slice(1));
      if (line.startsWith('-')) {
        patched.splice(at, 1);
        shift -= 1;
      } else at += 1;
    }
  }
  return patched;
}

describe('unifiedDiff', () => {
  it('returns an empty text for equal texts, and all lines of a new or a deleted text', () => {
    expect(unifiedDiff('a\n', 'a\n')).to.equal('');
    expect(unifiedDiff('', 'a\nb\n')).to.equal('@@ -0,0 +1,2 @@\n+a\n+b\n');
    expect(unifiedDiff('a\nb\n', '')).to.equal('@@ -1,2 +0,0 @@\n-a\n-b\n');
  });

  it('shows three lines around each change, and one hunk for changes that are close together', () => {
    const before = numbers(30);
    const after = before.map((line) => (['5', '12', '25'].includes(line) ? `${line}!` : line));
    const around = [
      ' 2',
      ' 3',
      ' 4',
      '-5',
      '+5!',
      ' 6',
      ' 7',
      ' 8',
      ' 9',
      ' 10',
      ' 11',
      '-12',
      '+12!',
      ' 13',
      ' 14',
      ' 15',
    ];
    const alone = [' 22', ' 23', ' 24', '-25', '+25!', ' 26', ' 27', ' 28'];
    expect(unifiedDiff(textOf(before), textOf(after)).split('\n')).to.deep.equal([
      '@@ -2,14 +2,14 @@',
      ...around,
      '@@ -22,7 +22,7 @@',
      ...alone,
      '',
    ]);
  });

  it('turns one text into the other with the fewest changed lines', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 24 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = unifiedDiff(textOf(before), textOf(after));
        expect(patch(before, diff)).to.deep.equal(after);
        const changed = diff.match(/^[-+]/gm)?.length ?? 0;
        expect(changed).to.equal(before.length + after.length - 2 * longestCommon(before, after));
      }),
    );
  });

  it('takes less than 5 s of CPU time for two texts of 20,001 lines that share only one line [slow]', () => {
    const [before, after] = [numbers(20_000, 'a'), numbers(20_000, 'b')];
    const started = process.cpuUsage();
    const diff = unifiedDiff(textOf(['same', ...before]), textOf(['same', ...after]));
    expect(process.cpuUsage(started).user).to.be.lessThan(5_000_000);
    expect(diff.split('\n').slice(0, 3)).to.deep.equal(['@@ -1,20001 +1,20001 @@', ' same', '-a1']);
  });
});

/** Returns the length of the longest common subsequence, by dynamic programming. */
function longestCommon(before: readonly string[], after: readonly string[]): number {
  let row = after.map(() => 0);
  for (const left of before) {
    const next: number[] = [];
    for (const [at, right] of after.entries()) {
      const diagonal = at === 0 ? 0 : (row[at - 1] ?? 0);
      next.push(left === right ? diagonal + 1 : Math.max(row[at] ?? 0, next[at - 1] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
