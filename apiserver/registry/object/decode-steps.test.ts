import { freezeDeep } from '@homeostat/controller-runtime';
import { expect } from 'chai';
import { assert, integer, json, jsonValue, property } from 'fast-check';
import { allSteps } from '../../turns/steps.ts';
import { decodeSteps } from './decode-steps.ts';

/** Returns the parsed value; `undefined` when the text is refused with a SyntaxError. */
function outcomeOf(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    expect(error).to.be.instanceOf(SyntaxError);
    return undefined;
  }
}

function stepsOf(...parameters: Parameters<typeof decodeSteps>): number {
  const steps = decodeSteps(...parameters);
  let count = 1;
  while (steps.next().done !== true) count += 1;
  return count;
}

/**
 * Expects the result of JSON.parse, or an error where JSON.parse throws one. The texts of JSON.stringify are compared
 * because they show the order of the fields.
 */
function expectSame(text: string, most: number): void {
  const expected = outcomeOf(() => JSON.parse(text));
  const actual = outcomeOf(() => allSteps(decodeSteps(Buffer.from(text), { most })));
  expect(actual).to.deep.equal(expected);
  expect(JSON.stringify(actual)).to.equal(JSON.stringify(expected));
}

describe('JSON that is parsed in steps', () => {
  const most = integer({ min: 1, max: 30 });

  it('has the same value as with JSON.parse', () => {
    assert(property(json(), most, expectSame));
    assert(
      property(jsonValue({ maxDepth: 5 }), most, (value, each) => expectSame(JSON.stringify(value, null, 1), each)),
    );
  });

  it('is refused when JSON.parse refuses it', () => {
    const mark = integer({ min: 0, max: 8 });
    const place = integer({ min: 0, max: 1_000 });
    const changed = (text: string, at: number, by: number): string =>
      text.slice(0, at % (text.length + 1)) + '[]{},:"\\ '.charAt(by) + text.slice(at % (text.length + 1));
    assert(
      property(json({ maxDepth: 4 }), most, place, mark, (text, each, at, by) => {
        expectSame(changed(text, at, by), each);
        expectSame(text.slice(0, at % (text.length + 1)), each);
      }),
      { numRuns: 300 },
    );
    for (const text of [
      '[1,2,,3]',
      '[1,2,3,]',
      '{"a":1,}',
      '{"a":1,"b"}',
      '[1}',
      '{1:[1,2]}',
      '[   ]',
      '"',
      '[1],[2]',
      '',
    ])
      for (const each of [1, 2, 3, 4]) expectSame(text, each);
  });

  it('keeps the last of several fields with the same name, and treats __proto__ as a field', () => {
    for (const each of [1, 4, 12]) {
      expectSame('{"a":1,"b":2,"a":[1,2,3]}', each);
      expectSame('{"a":1,"__proto__":{"b":[1,2,3]},"c":4}', each);
    }
    const value = allSteps(decodeSteps(Buffer.from('{"a":1,"__proto__":{"b":1}}'), { most: 3 })) as object;
    expect([Object.getPrototypeOf(value), Object.keys(value)]).to.deep.equal([Object.prototype, ['a', '__proto__']]);
  });

  it('is frozen at all levels on request', () => {
    const text = '{"a":[[1],{"b":{"c":[1,2,3]}}],"d":{}}';
    const isFrozen = (value: unknown): boolean =>
      typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen));
    for (const each of [1, 8, 100])
      expect(isFrozen(allSteps(decodeSteps(Buffer.from(text), { most: each, freeze: freezeDeep })))).to.equal(true);
    expect(Object.isFrozen(allSteps(decodeSteps(Buffer.from(text))))).to.equal(false);
  });

  it('is parsed in steps of about 16 KB', () => {
    const text = Buffer.from(JSON.stringify({ a: Array.from({ length: 100_000 }, () => []), b: { c: 'x' } }));
    const count = stepsOf(text);
    expect(count).to.be.within(text.length / (17 * 1024), text.length / (12 * 1024) + 10);
  });

  it('is searched for the end of a member in steps of 64 KB', () => {
    const text = Buffer.from(JSON.stringify([Array.from({ length: 300_000 }, () => 1), 1]));
    expect(stepsOf(text, { most: 500_000 })).to.be.within(2 * (text.length / (65 * 1024)), 25);
  });
});
