import { expect } from 'chai';
import fc from 'fast-check';
import { objectLimits } from '../limits/body-limits.ts';
import { copyAsJsonObject } from './json-copy.ts';

describe('copyAsJsonObject', () => {
  it('returns the same value as a round trip through JSON text, and never the original object', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value);
        // Texts with the name __proto__ are left out: another test checks that they are refused.
        fc.pre(!text.includes('__proto__'));
        const copy = copyAsJsonObject(Object.freeze(value), objectLimits);
        expect(copy).to.deep.equal(JSON.parse(text));
        if (typeof value === 'object' && value !== null) expect(copy).not.to.equal(value);
      }),
    );
  });

  it('omits or replaces the values that JSON.stringify omits or replaces', () => {
    const value = { a: undefined, b: () => 1, c: [undefined, Number.NaN, Infinity], d: new Date(0), e: Symbol('e') };
    expect(copyAsJsonObject(value, objectLimits)).to.deep.equal(JSON.parse(JSON.stringify(value)));
  });

  it('refuses values that a body must not contain', () => {
    const cyclic: { self?: object } = {};
    cyclic.self = cyclic;
    const hostile = JSON.parse('{"__proto__": {"polluted": true}}') as object;
    for (const value of [cyclic, hostile, { a: 1n }, { a: '\ud800' }, { '\udc00': 1 }]) {
      expect(() => copyAsJsonObject(value, objectLimits))
        .to.throw()
        .with.property('reason', 'BadRequest');
    }
  });

  it('allows 64 nested levels, which is also the limit for bodies', () => {
    const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });
    expect(() => copyAsJsonObject(nested(64), objectLimits)).not.to.throw();
    expect(() => copyAsJsonObject(nested(65), objectLimits)).to.throw(/is nested too deeply/);
  });
});
