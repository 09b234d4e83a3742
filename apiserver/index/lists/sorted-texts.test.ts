import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import { characters } from '../../base/characters.test-support.ts';
import { allSteps } from '../../turns/steps.ts';
import { commonLength, keyOf, sortedTexts } from './sorted-texts.ts';

function sorted(texts: readonly string[]): readonly (string | undefined)[] {
  const positions = allSteps(
    sortedTexts({
      length: texts.length,
      commonLength: (position) => commonLength(texts[position] ?? '', texts[0] ?? ''),
      keyAt: (position, from) => keyOf(texts[position] ?? '', from),
      compare: (a, b) => compareCodePoints(texts[a] ?? '', texts[b] ?? ''),
    }),
  );
  return positions.map((position) => texts[position]);
}

describe('sortedTexts', () => {
  it('sorts by code points, for texts with and without a common prefix', () => {
    const tail = fc.oneof(fc.string({ maxLength: 9 }), fc.string({ unit: characters, maxLength: 3 }));
    const common = fc.constantFrom('', 'person-', 'aaaaaaaaaaaaa', '\u{1F600}', '\u00ff');
    const check = (start: string, tails: readonly string[]): void => {
      const texts = tails.map((each) => start + each);
      expect(sorted(texts)).to.deep.equal([...texts].sort(compareCodePoints));
    };
    fc.assert(fc.property(common, fc.array(tail, { maxLength: 40 }), check), { numRuns: 200 });
  });

  it('keeps the order of equal texts, and sorts a text before longer texts that begin with it', () => {
    expect(sorted(['b', 'a\u0000', 'a', 'ab', 'a'])).to.deep.equal(['a', 'a', 'a\u0000', 'ab', 'b']);
  });
});
