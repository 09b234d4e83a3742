import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { deepEqual } from './json-equal.ts';

const json = fc.jsonValue({ maxDepth: 4 }).map((value): unknown => JSON.parse(JSON.stringify(value)));

describe('deepEqual', () => {
  it('treats a copy as equal, even if its keys are in another order', () => {
    const reversed = (value: unknown): unknown => {
      if (typeof value !== 'object' || value === null) return value;
      if (Array.isArray(value)) return value.map(reversed);
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, each]) => [key, reversed(each)]),
      );
    };
    fc.assert(fc.property(json, (value) => deepEqual(value, reversed(value)) && deepEqual(reversed(value), value)));
  });

  it('returns the same result as isDeepStrictEqual of node:util, for any two JSON values', () => {
    const small = fc.jsonValue({ maxDepth: 2, stringUnit: fc.constantFrom('a', 'b') });
    fc.assert(fc.property(small, small, (a, b) => deepEqual(a, b) === isDeepStrictEqual(normal(a), normal(b))));
  });

  it('distinguishes an absent key from a key on the prototype', () => {
    expect(deepEqual({ toString: 1 }, { a: 1 })).to.equal(false);
    expect(deepEqual(JSON.parse('{"__proto__": {}}'), { a: {} })).to.equal(false);
  });

  it('distinguishes objects, arrays and null', () => {
    expect(deepEqual([], {})).to.equal(false);
    expect(deepEqual({}, [])).to.equal(false);
    expect(deepEqual(null, {})).to.equal(false);
    expect(deepEqual({}, null)).to.equal(false);
    expect(deepEqual({ 0: 'a' }, ['a'])).to.equal(false);
  });
});

/** Returns the value with 0 in place of each negative zero. (JSON text can contain -0, and `JSON.parse` keeps it.) */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
