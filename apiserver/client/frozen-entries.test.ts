import { expect } from 'chai';
import { ChangeFeed } from '../index/change-feed.ts';
import type { Entry } from '../index/entry.ts';
import type { KindCache } from '../index/kind-cache.ts';
import { createPerson, createPersonCache, personEntry } from '../index/person.fixture.ts';
import { oneStepPerTurn, turnsOf } from '../turns/one-step-per-turn.test-support.ts';
import { FrozenEntries } from './frozen-entries.ts';

const count = 5000;

describe('FrozenEntries', () => {
  oneStepPerTurn();

  let cache: KindCache;
  let feed: ChangeFeed;
  let kind: { readonly cache: KindCache; readonly feed: ChangeFeed };
  let examined: number;

  beforeEach(() => {
    cache = createPersonCache();
    cache.load(Array.from({ length: count }, (_, at) => personAt(at, 1)));
    feed = new ChangeFeed({ floor: 1, onError: (error) => expect.fail(String(error)) });
    kind = { cache, feed };
    examined = 0;
  });

  function personAt(at: number, revision: number): Entry {
    return personEntry(cache, createPerson({ name: `p${String(at).padStart(4, '0')}` }, { age: at % 10 }), revision);
  }

  function freeze(): FrozenEntries {
    return new FrozenEntries(kind, ({ values }) => {
      examined += 1;
      return values.length > 0;
    });
  }

  /** Changes one object, deletes another one, and creates a third. */
  function change(): void {
    const [entry, added] = [personAt(7, 2), personAt(count, 4)];
    feed.append({ type: 'MODIFIED', revision: 2, entry, previous: cache.put(entry) as Entry });
    const deleted = cache.remove('p0008') as Entry;
    feed.append({ type: 'DELETED', revision: 3, entry: deleted, previous: deleted });
    cache.put(added);
    feed.append({ type: 'ADDED', revision: 4, entry: added });
  }

  function expectFormer(frozen: FrozenEntries): void {
    expect(frozen.find('p0007')?.revision).to.equal(1);
    expect(frozen.find('p0008')?.key).to.equal('p0008');
    expect(frozen.find(`p${count}`)).to.equal(undefined);
    expect(frozen.entries().map(({ revision }) => revision)).to.deep.equal(Array.from({ length: count }, () => 1));
  }

  it('selects the objects in several turns of the event loop, in the state that they had when FrozenEntries was created', async () => {
    let frozen: FrozenEntries | undefined;
    const turns = await turnsOf(() => {
      frozen = freeze();
      expect(examined).to.equal(0);
      change();
      return frozen.whole;
    });
    expect(turns).to.be.above(count / 1000);
    expectFormer(frozen as FrozenEntries);
    expect(examined).to.equal(count);
  });

  it('finds the former state of a single object without copying the other objects', () => {
    const frozen = freeze();
    change();
    expect(frozen.find('p0007')?.revision).to.equal(1);
    expect(frozen.find('p0008')?.key).to.equal('p0008');
    expect(frozen.find('p0009')?.revision).to.equal(1);
    expect(frozen.find(`p${count}`)).to.equal(undefined);
    expect(examined).to.equal(3);
    expectFormer(frozen);
  });

  it('examines all objects to find one, if the feed no longer has all changes since FrozenEntries was made', () => {
    const frozen = freeze();
    change();
    feed.trim(4);
    expectFormer(frozen);
    expect(examined).to.equal(count);
  });

  it('lists the objects of the kind only once for several FrozenEntries that are created at the same revision', () => {
    const places = cache.places.bind(cache);
    let passes = 0;
    cache.places = () => {
      passes += 1;
      return places();
    };
    const copies = [freeze(), freeze(), freeze()];
    expect(passes).to.equal(1);
    change();
    for (const copy of copies) expectFormer(copy);
    expect(freeze().find('p0007')?.revision).to.equal(2);
    expect(freeze().entries()).to.have.length(count);
  });
});
