import { seededRandom } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { KindCache } from '../kind-cache.ts';
import { createPerson, createPersonCache, personEntry } from '../person.fixture.ts';
import { prepareQuery } from './prepare-query.ts';
import { compileQuery } from './query.ts';
import type { QueryOptions } from './query.ts';
import { select } from './select.ts';
import { oneStepPerTurn } from '../../turns/one-step-per-turn.test-support.ts';
import { allSteps } from '../../turns/steps.ts';

const size = 6000;
/**
 * The number of objects in the test that `npm test` runs. A kind with at most 2,000 objects would not be prepared in
 * several turns.
 */
const fewer = 2500;
const teams = ['red', 'green', undefined];

type Random = () => number;

function put(cache: KindCache, name: string, random: Random): void {
  const draw = (below: number): number => Math.floor(random() * below);
  const tags = [`t${draw(9)}`, `t${draw(9)}`].slice(draw(3));
  const labels = { app: `a${draw(7)}`, ...(draw(2) === 0 ? { '\uFF5E': `${draw(3)}` } : {}) };
  const team = teams[draw(3)];
  const spec = { age: draw(20), tags: [...new Set(tags)], ...(team === undefined ? {} : { team }) };
  cache.put(personEntry(cache, createPerson({ name, labels, creationTimestamp: '2024-01-01T00:00:00Z' }, spec)));
}

function crowd(random: Random, count = size): KindCache {
  const cache = createPersonCache();
  for (let number = 0; number < count; number += 1) put(cache, `p${number}`, random);
  // From here on, the cache is like the cache of a kind that was just opened: the indexes that are built on demand are
  // not built yet.
  allSteps(cache.loadSteps([...cache.entries()]));
  return cache;
}

const queries: Readonly<Record<string, QueryOptions>> = {
  'a label selector': { labelSelector: [{ key: 'app', operator: 'in', values: ['a1', 'a2'] }] },
  'a field that must be absent': { fieldSelector: [{ key: 'spec.team', operator: 'absent', values: [] }] },
  'a field that must not have a value': { fieldSelector: [{ key: 'spec.team', operator: 'notin', values: ['red'] }] },
  'a sort by a multi-valued index': { sort: [{ field: 'spec.tags' }] },
  'a sort by its largest value': { sort: [{ field: 'spec.tags', direction: 'desc' }] },
  'a sort by name': { sort: [{ field: 'name', direction: 'desc' }] },
};

/** Expects the same result of a query from this cache and from a new cache with the same entries. */
function expectSame(cache: KindCache, options: QueryOptions): void {
  const other = createPersonCache();
  other.load([...cache.entries()]);
  const [found, expected] = [cache, other].map((each) => select(each, compileQuery(each, options)));
  expect(found?.entries.map(({ key }) => key)).to.deep.equal(expected?.entries.map(({ key }) => key));
  expect(found?.total).to.equal(expected?.total);
}

describe('prepareQuery', () => {
  oneStepPerTurn();

  for (const [index, [name, options]] of Object.entries(queries).entries()) {
    const [objects, tier] = index === 0 ? [fewer, ''] : [size, ' [slow]'];
    it(`prepares the indexes for ${name} over several turns of the event loop, and the result contains all writes made meanwhile${tier}`, async () => {
      const random = seededRandom(objects);
      const cache = crowd(random, objects);
      const query = compileQuery(cache, options);
      let turns = 0;
      let isPrepared = false;
      const write = (): void => {
        turns += 1;
        for (let count = 0; count < 40; count += 1) {
          const at = Math.floor(random() * (objects + 200));
          if (random() < 0.3) cache.remove(`p${at}`);
          else put(cache, `p${at}`, random);
        }
        if (!isPrepared) setImmediate(write);
      };
      write();
      await Promise.all([prepareQuery(cache, query), prepareQuery(cache, query)]);
      isPrepared = true;
      // The objects are visited, sorted and loaded in at least this many steps, and the writes in the meantime take
      // further steps.
      expect(turns).to.be.at.least(objects / 200);
      expect(prepareQuery(cache, query), 'is prepared').to.equal(undefined);
      expectSame(cache, options);
      // From here on, each change updates the index.
      for (let number = 0; number < objects; number += 7) put(cache, `p${number}`, random);
      expectSame(cache, options);
    });
  }

  it('builds a complete and correct index, even if a reader builds it or all objects are replaced meanwhile [slow]', async () => {
    const random = seededRandom(1);
    const cache = crowd(random);
    const options = queries['a label selector'] as QueryOptions;
    const query = compileQuery(cache, options);
    const prepared = prepareQuery(cache, query);
    await new Promise((resolve) => setImmediate(resolve));
    put(cache, 'p1', random);
    expectSame(cache, options);
    put(cache, 'p2', random);
    await prepared;
    expectSame(cache, options);

    const next = crowd(random);
    const again = compileQuery(next, options);
    const preparing = prepareQuery(next, again);
    await new Promise((resolve) => setImmediate(resolve));
    next.load([...next.entries()].slice(0, 3000));
    await preparing;
    expect(prepareQuery(next, again), 'is prepared').to.equal(undefined);
    expectSame(next, options);
  });

  it('when the index of names is already built, takes the order of names from this index, and builds all other indexes correctly', async () => {
    const random = seededRandom(2);
    const cache = crowd(random, fewer);
    const byName = queries['a sort by name'] as QueryOptions;
    await prepareQuery(cache, compileQuery(cache, byName));
    put(cache, 'a-new-first-name', random);
    cache.remove('p7');
    for (const [name, options] of Object.entries(queries)) {
      const query = compileQuery(cache, options);
      for (let prepared = prepareQuery(cache, query); prepared !== undefined; prepared = prepareQuery(cache, query)) {
        put(cache, `p${Math.floor(random() * fewer)}`, random);
        put(cache, `later-${name.length}`, random);
        await prepared;
      }
      expectSame(cache, options);
    }
  });

  it('prepares nothing for a small kind, whose first reader builds the index', () => {
    const cache = createPersonCache();
    for (let number = 0; number < 2000; number += 1) put(cache, `p${number}`, seededRandom(number));
    const missing = Object.values(queries).map((options) => prepareQuery(cache, compileQuery(cache, options)));
    expect(missing.every((each) => each === undefined)).to.equal(true);
  });

  it('keeps the prepared indexes, and updates them, when loadSteps() replaces the objects of the KindCache [slow]', () => {
    const cache = crowd(seededRandom(2));
    for (const options of Object.values(queries)) select(cache, compileQuery(cache, options));
    allSteps(cache.loadSteps([...cache.entries()].slice(0, 4000)));
    for (const options of Object.values(queries)) {
      expect(prepareQuery(cache, compileQuery(cache, options))).to.equal(undefined);
      expectSame(cache, options);
    }
  });
});
