import { expect } from 'chai';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { atOnce } from '../../turns/in-turns.ts';
import { SlicedPattern } from './sliced-pattern.ts';

/**
 * The characters of the texts. They are few, and patterns contain some of them, so that patterns often match. Among
 * them are a line end, characters inside and outside of words, and whole and half surrogate pairs.
 */
const characters = fc.constantFrom(
  'a',
  'b',
  'B',
  'k',
  'K',
  '1',
  '_',
  '-',
  ' ',
  '\n',
  'é',
  '\u212a',
  '😀',
  '\ud83d',
  '\ude00',
);
const texts = fc.string({ unit: characters, maxLength: 24 });

const classes = ['.', '\\w', '\\W', '\\d', '\\s', '[ab]', '[^a]', '[a-k1]', '[^\\n]', '\\pL', '(?i:k)', '(?s:.)'];
const places = ['^', '$', '\\b', '\\B', '\\A', '\\z', '(?m:^)', '(?m:$)', ''];
const repeats = ['*', '+', '?', '{0,3}', '{2}', '{2,}', '*?', '+?'];

const patterns = fc.letrec<{ pattern: string }>((tie) => {
  const inner = tie('pattern');
  return {
    pattern: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('a', 'b', 'é', '😀', '-', '_', ...classes, ...places),
      fc.tuple(inner, inner).map(([first, second]) => first + second),
      fc.tuple(inner, inner).map(([first, second]) => `(${first}|${second})`),
      fc.tuple(inner, fc.constantFrom(...repeats)).map(([part, times]) => `(?:${part})${times}`),
    ),
  };
}).pattern;

describe('SlicedPattern', () => {
  it('finds a match exactly when RE2 does [slow]', () => {
    let found = 0;
    fc.assert(
      fc.property(patterns, fc.array(texts, { minLength: 5, maxLength: 10 }), (pattern, all) => {
        const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
        const sliced = new SlicedPattern(compiled);
        for (const text of all) {
          const isMatch = compiled.test(text);
          if (isMatch) found += 1;
          expect(atOnce(sliced.match(text)), JSON.stringify({ pattern, text })).to.equal(isMatch);
        }
      }),
      { numRuns: 1000, examples: [['^(?:a{0,3}b|\\pL)*$', ['aab😀', 'é', 'aaaab', '\ud83d', 'a\nb']]] },
    );
    expect(found).to.be.above(500);
  });

  const hostile = '^(a|b)*a(a|b){900}$';
  const patternsOfDefinitions: readonly (readonly [pattern: string, match: string, other: string])[] = [
    [hostile, `${'ab'.repeat(200)}a${'b'.repeat(900)}`, `${'ab'.repeat(200)}b${'b'.repeat(900)}`],
    ['^.{1,1000}$', 'x'.repeat(1000), 'x'.repeat(1001)],
    ['^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$', 'a'.repeat(253), 'a'.repeat(254)],
    [
      '^https?://[^\\s/$.?#].[^\\s]*$',
      `https://example.com/${'x'.repeat(65_516)}`,
      `https://example.com/ ${'x'.repeat(65_516)}`,
    ],
    ['^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==)?$', 'abcd'.repeat(16_384), 'abcd'.repeat(16_384).slice(1)],
    [`^(${Array.from({ length: 400 }, (_, index) => `region-${index}`).join('|')})$`, 'region-399', 'region-400'],
  ];
  for (const [pattern, match, other] of patternsOfDefinitions) {
    it(`matches the same texts as RE2 with the pattern ${pattern.slice(0, 60)}`, () => {
      const sliced = new SlicedPattern(RE2JS.compile(pattern));
      expect([match, other].map((text) => atOnce(sliced.match(text)))).to.deep.equal([true, false]);
    });
  }

  it('pauses after every 10,000 steps, or slightly more, and yields the number of steps since the last pause', () => {
    const text = 'ab'.repeat(1000);
    const states = RE2JS.compile(hostile).programSize();
    const steps = [...new SlicedPattern(RE2JS.compile(hostile)).match(text)];
    expect(Math.max(...steps)).to.be.below(10_000 + 2 * states);
    expect(steps.reduce((sum, each) => sum + each)).to.be.within(500_000, states * text.length);
  });
});
