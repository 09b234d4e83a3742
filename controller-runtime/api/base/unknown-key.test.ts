import { expect } from 'chai';
import { unknownKeyOf } from './unknown-key.ts';

const known = ['name', 'order', 'unique', 'indexFunc'];

describe('unknownKeyOf', () => {
  it('accepts known keys', () => {
    expect(unknownKeyOf({ name: 'a', unique: true }, known)).to.equal(undefined);
    expect(unknownKeyOf({}, known)).to.equal(undefined);
  });

  it('suggests the most similar key', () => {
    for (const key of ['uniqe', 'Unique', 'uniuqe', 'unique_']) {
      expect(unknownKeyOf({ [key]: true }, known)).to.equal(`unknown key "${key}". Did you mean "unique"?`);
    }
  });

  it('lists the keys when none is similar, and truncates a long key', () => {
    const list = 'The keys are name, order, unique, indexFunc.';
    expect(unknownKeyOf({ path: 'a' }, known)).to.equal(`unknown key "path". ${list}`);
    expect(unknownKeyOf({ ['a'.repeat(1000)]: 1 }, known)).to.equal(`unknown key "${'a'.repeat(64)}". ${list}`);
  });

  it('reports an unknown key even when its value is undefined', () => {
    expect(unknownKeyOf({ uniqe: undefined }, known)).to.contain('uniqe');
  });
});
