import { expect } from 'chai';
import fc from 'fast-check';
import { matchesLabels, matchesValues } from './match-selector.ts';
import type { SelectorOperator } from './selector.ts';

function test(operator: SelectorOperator, values: readonly string[], present: readonly string[]): boolean {
  return matchesValues({ key: 'k', operator, values }, present);
}

describe('matchesValues', () => {
  it('matches with `in` when one of the values of an object is in the list of the requirement', () => {
    expect(test('in', ['a', 'b'], ['x', 'b'])).to.equal(true);
    expect(test('in', ['a', 'b'], ['x'])).to.equal(false);
    expect(test('in', [''], [])).to.equal(false);
  });

  it('matches with `notin` exactly when `in` does not match, and with `absent` exactly when `exists` does not match, for small and large sets', () => {
    const value = fc.integer({ min: 0, max: 60 }).map((number) => `v${number}`);
    fc.assert(
      fc.property(fc.uniqueArray(value, { minLength: 1 }), fc.array(value, { maxLength: 4 }), (values, present) => {
        expect(test('in', values, present)).to.equal(present.some((each) => values.includes(each)));
        expect(test('notin', values, present)).to.equal(!test('in', values, present));
        expect(test('absent', [], present)).to.equal(!test('exists', [], present));
      }),
      { numRuns: 500 },
    );
  });

  it('compares whole numbers exactly, up to the largest signed 64-bit integer', () => {
    expect(test('gt', ['9223372036854775806'], ['9223372036854775807'])).to.equal(true);
    expect(test('gt', ['9223372036854775807'], ['9223372036854775807'])).to.equal(false);
    expect(test('lt', ['10'], ['9'])).to.equal(true);
    expect(test('lt', ['10'], ['007'])).to.equal(true);
    expect(test('gt', ['1'], ['v2'])).to.equal(false);
    expect(test('gt', ['1'], ['9223372036854775808'])).to.equal(false);
    expect(test('lt', ['1'], [])).to.equal(false);
  });
});

describe('matchesLabels', () => {
  it('ignores inherited properties of the map of labels', () => {
    expect(matchesLabels([{ key: 'toString', operator: 'exists', values: [] }], { a: 'b' })).to.equal(false);
    expect(matchesLabels([{ key: 'constructor', operator: 'absent', values: [] }], undefined)).to.equal(true);
  });

  it('matches an object only when it meets all requirements, and matches every object when there are no requirements', () => {
    const selector = [
      { key: 'a', operator: 'in', values: ['b'] },
      { key: 'c', operator: 'absent', values: [] },
    ] as const;
    expect(matchesLabels(selector, { a: 'b' })).to.equal(true);
    expect(matchesLabels(selector, { a: 'b', c: '' })).to.equal(false);
    expect(matchesLabels([], undefined)).to.equal(true);
  });
});
