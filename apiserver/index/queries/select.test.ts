import { expect } from 'chai';
import type { KindCache } from '../kind-cache.ts';
import { createPerson, createPersonCache, personEntry } from '../person.fixture.ts';
import type { QueryOptions } from './query.ts';
import { compileQuery } from './query.ts';
import type { PageBounds, SelectedEntries } from './select.ts';
import { select } from './select.ts';

const size = 20_000;

/**
 * Creates persons with one of 100 ages, one of two teams (`red` for the first half of the persons), and one of ten
 * values of the label `app`. Every 40th person has tags.
 */
function createCrowd(): KindCache {
  const cache = createPersonCache();
  const entries = Array.from({ length: size }, (_, i) => {
    const name = `p${String(i).padStart(5, '0')}`;
    const creationTimestamp = new Date(Date.UTC(2024, 0, 1) + Math.floor(i / 5) * 1000)
      .toISOString()
      .replace('.000', '');
    const spec = {
      name,
      age: i % 100,
      team: i < size / 2 ? 'red' : 'green',
      ...(i % 40 === 0 ? { tags: [`t${i}`, 'z'] } : {}),
    };
    return personEntry(cache, createPerson({ name, creationTimestamp, labels: { app: `a${i % 10}` } }, spec));
  });
  cache.load(entries);
  return cache;
}

describe('the objects that select() visits', () => {
  let cache: KindCache;
  before(() => {
    cache = createCrowd();
  });
  const run = (options: QueryOptions, page?: PageBounds): SelectedEntries =>
    select(cache, compileQuery(cache, options), page);
  const field = (key: string, ...values: string[]): QueryOptions => ({
    fieldSelector: [{ key, operator: 'in', values }],
  });
  const half = { offset: size / 2, count: 20 };

  it('are only the objects of the page when there is no selector, at any offset', () => {
    for (const sort of [[], [{ field: 'spec.name', direction: 'desc' as const }], [{ field: 'name' }]]) {
      const { entries, total, visited } = run({ sort }, half);
      expect([entries.length, total, visited]).to.deep.equal([20, size, 20]);
    }
  });

  it('are, for a sort by a multi-valued index, only the objects of the page; objects without a value are last', () => {
    const sort = [{ field: 'spec.tags', direction: 'desc' as const }];
    const { entries, visited } = run({ sort }, { offset: 498, count: 4 });
    expect(entries.map((entry) => entry.name)).to.deep.equal(['p19920', 'p19960', 'p00001', 'p00002']);
    expect(visited).to.equal(4);
  });

  it('are, for a sort by several fields, only objects that share the value of the first field with an object of the page', () => {
    const { entries, visited } = run({ sort: [{ field: 'spec.age' }, { field: 'name', direction: 'desc' }] }, half);
    expect(entries[0]?.name).to.equal('p19950');
    expect(visited).to.be.at.most(400);
  });

  it('are only the matching objects when a selector matches few objects', () => {
    const { total, visited } = run(field('spec.age', '42'), { count: 20 });
    expect([total, visited]).to.deep.equal([200, 200]);
  });

  it('are the objects that meet the most selective of several requirements', () => {
    const selected = run({
      labelSelector: [{ key: 'app', operator: 'in', values: ['a2'] }],
      fieldSelector: [
        { key: 'spec.team', operator: 'in', values: ['red'] },
        { key: 'spec.age', operator: 'in', values: ['42'] },
      ],
    });
    expect([selected.total, selected.visited]).to.deep.equal([100, 200]);
  });

  it('are none when one of the requirements matches no object', () => {
    expect(
      run({ ...field('spec.team', 'blue'), labelSelector: [{ key: 'app', operator: 'exists', values: [] }] }),
    ).to.deep.equal({
      entries: [],
      total: 0,
      visited: 0,
    });
  });

  it('are only a small part of the matching objects when a query with one requirement returns a page, because the index knows the number of matches', () => {
    const ofLabel = run({ labelSelector: [{ key: 'app', operator: 'in', values: ['a3'] }] }, { count: 20 });
    expect(ofLabel.total).to.equal(size / 10);
    expect(ofLabel.visited).to.be.at.most(400);
    const complement = run({ labelSelector: [{ key: 'app', operator: 'notin', values: ['a3'] }] }, { count: 20 });
    expect(complement.total).to.equal((size / 10) * 9);
    expect(complement.visited).to.be.at.most(40);
  });

  it('are only the matching objects for `notin` and `exists` when these match few objects', () => {
    const others = run({ fieldSelector: [{ key: 'spec.team', operator: 'notin', values: ['red', 'green'] }] });
    expect([others.total, others.visited]).to.deep.equal([0, 0]);
    const tagged = run({ fieldSelector: [{ key: 'spec.tags', operator: 'exists', values: [] }] });
    expect([tagged.total, tagged.visited]).to.deep.equal([500, 500]);
  });

  it('are only the matching objects when these are few, even if they are last in the order', () => {
    const { entries, visited } = run(
      { ...field('spec.age', '0'), sort: [{ field: 'name', direction: 'desc' }] },
      { offset: 190, count: 10 },
    );
    expect(entries.at(-1)?.name).to.equal('p00000');
    expect(visited).to.equal(200);
  });
});
