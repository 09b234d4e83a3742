import { expect } from 'chai';
import { ChangeFeed } from '../change-feed.ts';
import { History } from './history.ts';
import type { KindCache } from '../kind-cache.ts';
import { createPerson, createPersonCache, personEntry } from '../person.fixture.ts';
import { compileQuery } from './query.ts';
import type { QueryOptions } from './query.ts';
import { select } from './select.ts';
import type { PageBounds } from './select.ts';
import { isLongSelection, selectInTurns, selectLong } from './select-in-turns.ts';

const size = 6000;

/** Creates persons with one of 100 ages, one of ten values of the label `app`, and tags. Two thirds have a team. */
function createCrowd(): KindCache {
  const cache = createPersonCache();
  const entries = Array.from({ length: size }, (_, i) => {
    const name = `p${String((i * 7919) % size).padStart(5, '0')}`;
    const team = ['red', 'green'][i % 3];
    const spec = { name, age: i % 100, tags: [`t${i % 11}`, 'z'], ...(team === undefined ? {} : { team }) };
    return personEntry(cache, createPerson({ name, labels: { app: `a${i % 10}` } }, spec));
  });
  cache.load(entries);
  return cache;
}

const twoKeys = [{ field: 'spec.age' }, { field: 'name', direction: 'desc' as const }];
const byTeam = [{ field: 'spec.team' }, { field: 'spec.tags' }, { field: 'spec.age', direction: 'desc' as const }];
const ofRed = { fieldSelector: [{ key: 'spec.team', operator: 'in' as const, values: ['red'] }] };
const notRed = { fieldSelector: [{ key: 'spec.team', operator: 'notin' as const, values: ['red'] }] };
const ofTags = { fieldSelector: [{ key: 'spec.tags', operator: 'in' as const, values: ['t1', 't2', 'z'] }] };
const ofOld = { fieldSelector: [{ key: 'spec.age', operator: 'in' as const, values: ['98', '99'] }] };
const others = {
  labelSelector: Array.from({ length: 100 }, (_, i) => ({
    key: 'app',
    operator: 'notin' as const,
    values: [`a${i < 4 ? i : i + 10}`],
  })),
};

const queries: readonly QueryOptions[] = [{}, ofRed, notRed, ofTags, ofOld, others, { ...others, ...ofOld }].flatMap(
  (options) =>
    [[], twoKeys, byTeam, [{ field: 'spec.tags', direction: 'desc' as const }]].map((sort) => ({ ...options, sort })),
);

const keysOf = (entries: readonly { readonly key: string }[]): string => entries.map(({ key }) => key).join();

describe('selectLong', () => {
  let cache: KindCache;
  before(() => {
    cache = createCrowd();
  });

  async function expectSame(pages: readonly PageBounds[]): Promise<void> {
    for (const options of queries) {
      const query = compileQuery(cache, options);
      for (const page of pages) {
        const [found, expected] = [await selectLong(cache, query, page), select(cache, query, page)];
        const message = JSON.stringify([options, page]);
        // The keys are compared as one text, because chai compares lists of thousands of keys slowly.
        expect(keysOf(found.entries), message).to.equal(keysOf(expected.entries));
        expect(found.total, message).to.equal(expected.total);
      }
    }
  }

  it('returns the same page as select for an offset of 100 [slow]', () => expectSame([{ offset: 100, count: 7 }]));

  it('returns the same page as select for all objects, for the first 20, for an offset after the last, and for no objects [slow]', () =>
    expectSame([{}, { count: 20 }, { offset: size }, { count: 0 }]));

  it('visits few objects after the page when the total is known', async () => {
    const { visited, total } = await selectLong(cache, compileQuery(cache, notRed), { offset: 20, count: 20 });
    expect(total).to.equal((size / 3) * 2);
    expect(visited).to.be.within(40, 100);
  });

  it('visits only the objects that meet a selective requirement', async () => {
    const { visited } = await selectLong(cache, compileQuery(cache, { ...others, ...ofOld }));
    expect(visited).to.equal(size / 50);
  });
});

describe('isLongSelection', () => {
  it('returns true only when a query must visit very many objects [slow]', () => {
    const cache = createCrowd();
    const isLong = (options: QueryOptions, count?: number): boolean =>
      isLongSelection(cache, compileQuery(cache, options), count === undefined ? {} : { count });
    expect(isLong({})).to.equal(false);
    expect(isLong(others)).to.equal(true);
    expect(isLong({ ...others, ...ofOld }), 'few candidates').to.equal(false);
    const large = createPersonCache();
    large.load(
      Array.from({ length: 4 * size }, (_, i) => personEntry(large, createPerson({ name: `p${i}` }, { age: i % 10 }))),
    );
    const sorted = compileQuery(large, { sort: twoKeys });
    expect(isLongSelection(large, sorted)).to.equal(true);
    expect(isLongSelection(large, sorted, { offset: 900, count: 100 })).to.equal(false);
    expect(selectInTurns(large, sorted, { count: 100 })).to.not.be.instanceOf(Promise);
  });
});

describe('History, for queries that take long', () => {
  it('keeps the order of all objects once for each sort key, and the matches of each query for its next pages [slow]', async () => {
    const cache = createCrowd();
    const feed = new ChangeFeed({ floor: 1, onError: (error) => expect.fail(String(error)) });
    const history = new History(cache, feed);
    const queriesOf = [ofRed, notRed, {}].map((options) => compileQuery(cache, { ...others, ...options }));
    const before = queriesOf.map((query) => select(cache, query).entries);
    const entry = personEntry(cache, createPerson({ name: 'new' }, { team: 'red' }), 2);
    cache.put(entry);
    feed.append({ type: 'ADDED', revision: 2, entry });
    for (const [at, query] of queriesOf.entries()) {
      const first = await history.selectInTurns(query, 1, { count: 50 });
      expect(first.entries).to.deep.equal(before[at]?.slice(0, 50));
      const next = await history.selectInTurns(query, 1, { offset: 50, count: 50 });
      expect(next.entries).to.deep.equal(before[at]?.slice(50, 100));
      expect([next.total, next.visited]).to.deep.equal([before[at]?.length, 50]);
    }
    expect(history.snapshots).to.equal(1 + queriesOf.length);
  });
});
