import { expect } from 'chai';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { estimateStates } from './pattern-size.ts';

const patterns = fc.letrec((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      'a',
      '.',
      'x9',
      '[a-z0-9]',
      '[^]]',
      '[]a]',
      '[\\]x]',
      '\\d',
      '\\pL',
      '\\p{Greek}',
      '\\Qa{9}\\E',
      '\\{',
      '$',
      '\\b',
    ),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `${String(a)}${String(b)}`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `${String(a)}|${String(b)}`),
    fc
      .tuple(
        fc.constantFrom('(', '(?:', '(?i:', '(?P<n>'),
        tie('pattern'),
        fc.constantFrom('', '*', '+?', '?', '{3}', '{2,}', '{0,7}', '{9,'),
      )
      .map(([open, inner, repeat]) => `${open}${String(inner)})${repeat}`),
  ),
})).pattern;

describe('estimateStates', () => {
  for (const [numRuns, tier] of [
    [500, ''],
    [2000, ' [slow]'],
  ] as const)
    it(`returns at least half of the number of states that RE2 needs for a pattern${tier}`, () => {
      let compared = 0;
      fc.assert(
        fc.property(patterns, (pattern) => {
          let states: number;
          try {
            states = RE2JS.compile(pattern).programSize();
          } catch {
            return;
          }
          compared += 1;
          // A compiled pattern has further states, for its beginning and its end, which the estimate does not count.
          expect(estimateStates(pattern), pattern).to.be.at.least((states - 4) / 2);
        }),
        { numRuns },
      );
      expect(compared).to.be.above(numRuns / 2);
    });

  it('multiplies the counts of nested repetitions', () => {
    expect(estimateStates('((x{10}){10}){10}')).to.be.within(1000, 2000);
    expect(estimateStates('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')).to.be.within(60, 300);
    expect(estimateStates('')).to.equal(0);
  });

  it('returns a number for a pattern that RE2 refuses, and throws no error', () => {
    for (const pattern of ['(', '((((a', ')', '[', '[^', '\\', '\\p{', '\\Q', '{', 'a{', 'a{1,2', 'a{99999}', '*'])
      expect(estimateStates(pattern), pattern).to.be.a('number');
  });

  it('takes a time that is linear in the length of the pattern', () => {
    for (const part of ['(', ')', '[', '{1,', '\\p{', '\\Q', 'a{3}', '(?:'])
      expect(estimateStates(part.repeat(300_000)), part).to.be.a('number');
  });
});
