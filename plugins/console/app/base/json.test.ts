import { expect } from 'chai';
import { differences } from './differences.ts';
import { formatPath, valueAt, withValueAt } from './json.ts';
import { visibleText } from './shown-text.ts';
import { formatAge } from './time.ts';

describe('values of JSON', () => {
  it('are changed at a path in a copy, which keeps the order of fields', () => {
    const before = { a: 1, b: { c: [1, 2, 3] }, d: 4 };
    const after = withValueAt(before, ['b', 'c', 1], 9);
    expect(after).to.deep.equal({ a: 1, b: { c: [1, 9, 3] }, d: 4 });
    expect(Object.keys(after as object)).to.deep.equal(['a', 'b', 'd']);
    expect(before.b.c).to.deep.equal([1, 2, 3]);
    expect(withValueAt(before, ['b', 'c', 0], undefined)).to.deep.equal({ a: 1, b: { c: [2, 3] }, d: 4 });
    expect(withValueAt({}, ['x', 'y'], true)).to.deep.equal({ x: { y: true } });
  });

  it('are read at a path, without the fields of their prototype', () => {
    expect(valueAt({}, ['constructor'])).to.equal(undefined);
    expect(valueAt({ a: [{ b: 1 }] }, ['a', 0, 'b'])).to.equal(1);
  });

  it('are compared field by field, and arrays as a whole', () => {
    expect(differences({ a: { b: 1, c: [1, 2] } }, { a: { b: 2, c: [1, 2, 3] }, d: true })).to.deep.equal([
      { path: ['a', 'b'], before: 1, after: 2 },
      { path: ['a', 'c'], before: [1, 2], after: [1, 2, 3] },
      { path: ['d'], before: undefined, after: true },
    ]);
  });

  it('have paths in the notation of Kubernetes, such as spec.items[0].name and metadata.labels[example.com/team]', () => {
    expect(formatPath(['spec', 'items', 0, 'name'])).to.equal('spec.items[0].name');
    expect(formatPath(['metadata', 'labels', 'example.com/team'])).to.equal('metadata.labels[example.com/team]');
  });
});

describe('text of objects', () => {
  it('shows the code point of an invisible character that could disguise a text, in place of the character', () => {
    expect(visibleText('abc\u202egnp.exe')).to.equal('abc⟨U+202E⟩gnp.exe');
    expect(visibleText('two\nlines\tand <b>')).to.equal('two\nlines\tand <b>');
  });

  it('shows ages in the largest unit', () => {
    const nowMs = 1_000_000_000_000;
    const ages = [200, 5000, 61_000, 7_300_000, 200_000_000].map((ago) => formatAge(nowMs - ago, nowMs));
    expect(ages).to.deep.equal(['now', '5s', '1m', '2h', '2d']);
    expect(formatAge(nowMs + 90_000, nowMs)).to.equal('in 1m');
  });
});
