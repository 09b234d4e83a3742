import { expect } from 'chai';
import { freezeDeep } from './freeze-deep.ts';

describe('freezeDeep', () => {
  it('freezes objects and arrays at every depth, and returns the value itself', () => {
    const value = { list: [{ a: 1 }], text: 'x', nothing: null };
    expect(freezeDeep(value)).to.equal(value);
    expect(() => Object.assign(value.list[0] ?? {}, { a: 2 })).to.throw(TypeError);
    expect(() => value.list.push({ a: 3 })).to.throw(TypeError);
  });

  it('freezes values that are nested so deeply that recursion would overflow the stack', () => {
    const depth = 100_000;
    const value: unknown = JSON.parse('['.repeat(1000) + ']'.repeat(1000));
    let nested: unknown = value;
    for (let level = 0; level < depth; level += 1) nested = [nested];
    expect(freezeDeep(nested)).to.equal(nested);
    expect(Object.isFrozen(value)).to.equal(true);
  });

  it('returns scalars unchanged', () => {
    for (const scalar of [1, 'x', null, undefined]) expect(freezeDeep(scalar)).to.equal(scalar);
  });
});
