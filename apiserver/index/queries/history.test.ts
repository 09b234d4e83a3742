import { reasonOf } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import { ChangeFeed } from '../change-feed.ts';
import { entryWith } from '../create-entry.ts';
import type { Entry } from '../entry.ts';
import { History } from './history.ts';
import type { HistoryOptions } from './history.ts';
import type { KindCache } from '../kind-cache.ts';
import { createPerson, createPersonCache, personEntry } from '../person.fixture.ts';
import { oneStepPerTurn, turnsOf } from '../../turns/one-step-per-turn.test-support.ts';
import { compileQuery } from './query.ts';
import type { Query } from './query.ts';
import { select } from './select.ts';

/** A cache of a kind and its feed. Writes update both, as in the registry. */
class Kind {
  readonly cache: KindCache = createPersonCache();
  readonly feed: ChangeFeed = new ChangeFeed({
    floor: 0,
    onError: (error) => {
      throw error;
    },
  });
  readonly history: History;
  revision = 0;

  constructor(options: HistoryOptions = {}) {
    this.history = new History(this.cache, this.feed, options);
  }

  put(name: string, age: number): void {
    const revision = ++this.revision;
    const entry = personEntry(
      this.cache,
      createPerson({ name }, { age, team: age % 2 === 0 ? 'red' : 'green' }),
      revision,
    );
    const previous = this.cache.put(entry);
    this.feed.append(
      previous === undefined ? { type: 'ADDED', revision, entry } : { type: 'MODIFIED', revision, entry, previous },
    );
  }

  remove(name: string): void {
    const previous = this.cache.remove(name);
    if (previous === undefined) return;
    const revision = ++this.revision;
    this.feed.append({ type: 'DELETED', revision, entry: entryWith(previous, { revision }), previous });
  }
}

const byAge = { sort: [{ field: 'spec.age' }] };
const ofRed = { ...byAge, fieldSelector: [{ key: 'spec.team', operator: 'in' as const, values: ['red'] }] };

function createCrowd(options?: HistoryOptions): Kind {
  const kind = new Kind(options);
  for (let i = 0; i < 50; i++) kind.put(`p${i}`, i);
  return kind;
}

describe('History', () => {
  it('returns for every earlier revision the result that was recorded at that time [slow]', () => {
    const step = fc.record({
      name: fc.integer({ min: 0, max: 6 }).map((n) => `p${n}`),
      age: fc.integer({ min: -4, max: 9 }),
    });
    const run = (steps: readonly { name: string; age: number }[]): void => {
      const kind = new Kind({ maxSnapshots: 3 });
      const queries = [byAge, ofRed].map((options) => compileQuery(kind.cache, options));
      const recorded: (readonly Entry[])[][] = [];
      for (const { name, age } of steps) {
        if (age < 0) kind.remove(name);
        else kind.put(name, age);
        recorded[kind.revision] = queries.map((query) => select(kind.cache, query).entries);
      }
      for (const [revision, states] of recorded.entries()) {
        states?.forEach((expected, i) => {
          const query = queries[i] as (typeof queries)[number];
          const offset = revision % 3;
          expect(kind.history.selectAt(query, revision).entries).to.deep.equal(expected);
          const page = kind.history.selectAt(query, revision, { offset, count: 2 });
          expect(page.entries).to.deep.equal(expected.slice(offset, offset + 2));
          expect(page.total).to.equal(expected.length);
        });
      }
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 30 }), run), { numRuns: 500 });
  });

  it('reads the pages of a list at one revision; after changes, the next read visits all objects, later reads only their page', () => {
    const kind = createCrowd();
    const query = compileQuery(kind.cache, byAge);
    const { revision } = kind;
    const names: string[] = [];
    const costs: number[] = [];
    for (let offset = 0; offset < 50; offset += 10) {
      const { entries, visited } = kind.history.selectAt(query, revision, { offset, count: 10 });
      names.push(...entries.map((entry) => entry.name));
      costs.push(visited);
      if (offset !== 0) continue;
      kind.remove('p15');
      kind.put('p30', 0);
      kind.put('new', 25);
    }
    expect(names).to.deep.equal(Array.from({ length: 50 }, (_, i) => `p${i}`));
    expect(costs).to.deep.equal([10, 60, 10, 10, 10]);
  });

  it('keeps at most maxSnapshots query results with maxEntries objects in all, and computes a dropped result again', () => {
    const kind = createCrowd({ maxSnapshots: 2, maxEntries: 60 });
    kind.put('p1', 40);
    const ask = (options: typeof byAge | typeof ofRed, revision: number) =>
      kind.history.selectAt(compileQuery(kind.cache, options), revision, { count: 1 }).visited;
    expect([ask(ofRed, 50), ask(ofRed, 49), ask(ofRed, 48)].every((visited) => visited > 1)).to.equal(true);
    expect(kind.history.snapshots).to.equal(2);
    expect(ask(ofRed, 48)).to.equal(1);
    expect(ask(ofRed, 50)).to.be.above(1);
    expect(ask(byAge, 50)).to.be.above(1);
    expect(kind.history.snapshots).to.equal(1);
  });

  it('returns the current state for a revision after the last change', () => {
    const kind = createCrowd();
    expect(kind.history.selectAt(compileQuery(kind.cache, byAge), 1000).total).to.equal(50);
  });

  it('throws Expired for a revision below the floor even if the result of the query is kept, and drops this result in prune()', () => {
    const kind = createCrowd();
    const query = compileQuery(kind.cache, byAge);
    kind.put('p1', 7);
    expect(kind.history.selectAt(query, 40).total).to.equal(40);
    expect(kind.history.snapshots).to.equal(1);
    kind.feed.trim(41);
    expect(() => kind.history.selectAt(query, 40))
      .to.throw()
      .that.satisfies((error: unknown) => reasonOf(error) === 'Expired');
    kind.history.prune();
    expect(kind.history.snapshots).to.equal(0);
    expect(kind.history.selectAt(query, 41).total).to.equal(41);
  });

  describe('with many changes since the revision', () => {
    oneStepPerTurn();

    /** Returns a query, and a revision after which an object has changed 2,000 times. */
    function createBusyCrowd(): { readonly kind: Kind; readonly query: Query; readonly revision: number } {
      const kind = createCrowd();
      const { revision } = kind;
      for (let change = 0; change < 2000; change += 1) kind.put('p1', change % 10);
      return { kind, query: compileQuery(kind.cache, byAge), revision };
    }

    it('undoes these changes in several turns of the event loop, and ignores changes made meanwhile', async () => {
      const { kind, query, revision } = createBusyCrowd();
      const work = Promise.resolve(kind.history.selectInTurns(query, revision, { count: 3 }));
      kind.put('p2', 999);
      expect(await turnsOf(() => work)).to.be.above(3);
      const { entries, total } = await work;
      expect([entries.map(({ name }) => name), total]).to.deep.equal([['p0', 'p1', 'p2'], 50]);
      expect(entries[1]?.revision).to.equal(2);
    });

    it('rejects a query with Expired when some of these changes are trimmed before the query has read them', async () => {
      const { kind, query, revision } = createBusyCrowd();
      const work = Promise.resolve(kind.history.selectInTurns(query, revision));
      kind.feed.trim(kind.revision);
      expect(reasonOf(await work.catch((error: unknown) => error))).to.equal('Expired');
    });
  });
});
