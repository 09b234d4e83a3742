import { IndexSpec } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { IndexValueError } from './index-value-error.ts';
import { allSteps } from '../turns/steps.ts';
import { KindCache } from './kind-cache.ts';
import { createPerson, createPersonCache, personEntry, personDescriptor } from './person.fixture.ts';

function cacheWith(indexFunc: IndexSpec['indexFunc']): KindCache {
  return new KindCache(personDescriptor(), [new IndexSpec({ name: 'spec.x', indexFunc })]);
}

describe('KindCache', () => {
  it('contains the newest entry of each key', () => {
    const cache = createPersonCache();
    const first = personEntry(cache, createPerson({ name: 'ann' }));
    const second = personEntry(cache, createPerson({ name: 'ann' }, { name: 'Ann' }), 2);
    expect(cache.put(first)).to.equal(undefined);
    expect(cache.put(second)).to.equal(first);
    expect(cache.size).to.equal(1);
    expect(cache.get('ann')).to.equal(second);
    expect(cache.index('spec.name')?.values.entryAt(0)).to.equal(second);
    expect(cache.remove('ann')).to.equal(second);
    expect(cache.remove('ann')).to.equal(undefined);
    expect([...cache.entries()]).to.deep.equal([]);
    for (const index of cache.indexes) expect(index.values.size + index.absent.size).to.equal(0);
  });

  it('keeps several values of an index as a list without duplicates, sorted by code point; a single value as a string', () => {
    const cache = createPersonCache();
    const person = createPerson({ name: 'ann' }, { tags: ['\u{1F600}', '\uFF5E', 'a', 'a'], team: 'red' });
    const tags = cache.index('spec.tags')?.position ?? -1;
    const team = cache.index('spec.team')?.position ?? -1;
    const values = cache.draft(person);
    expect(values[tags]).to.deep.equal(['a', '\uFF5E', '\u{1F600}']);
    expect(values[team]).to.equal(cache.draft(createPerson({ name: 'bob' }, { team: 'red' }))[team]);
  });

  it('names the index whose function throws, and keeps the cause', () => {
    const cause = new Error('no spec');
    const failing = cacheWith({
      multiValued: false,
      valuesOf: () => {
        throw cause;
      },
    });
    expect(() => failing.draft(createPerson({ name: 'ann' })))
      .to.throw(IndexValueError, 'index function failed: no spec')
      .that.includes({ index: 'spec.x', cause });
  });

  it('refuses a result of an index function that is not a list of strings, or has two values for a single-valued index', () => {
    const wrong = (values: unknown) => cacheWith({ multiValued: false, valuesOf: () => values as readonly string[] });
    for (const values of [[1], 'text', undefined, [null], ['a', 'b']]) {
      expect(() => wrong(values).draft(createPerson({ name: 'ann' })), String(values)).to.throw(IndexValueError);
    }
  });

  it('finds another object that has the same unique value, and ignores the object itself', () => {
    const cache = createPersonCache();
    cache.put(personEntry(cache, createPerson({ name: 'ann' }, { slug: 's' })));
    const values = cache.draft(createPerson({ name: 'bob' }, { slug: 's' }));
    expect(cache.uniqueHolder(values, 'bob')).to.deep.equal({ index: 'spec.slug', value: 's', holder: 'ann' });
    expect(cache.uniqueHolder(values, 'ann')).to.equal(undefined);
    expect(cache.uniqueHolder(cache.draft(createPerson({ name: 'ann' })), 'bob')).to.equal(undefined);
  });

  it('claims the values of unique indexes other than the name', () => {
    const cache = createPersonCache();
    const [none, s, t] = [undefined, 's', 't'].map((slug) =>
      cache.draft(createPerson({ name: 'ann' }, slug === undefined ? {} : { slug })),
    );
    const claim = (value: string) => ({ index: 'spec.slug', value });
    expect(cache.claims(s ?? [])).to.deep.equal([claim('s')]);
    expect(cache.claimChanges(undefined, s)).to.deep.equal({ add: [claim('s')], remove: [] });
    expect(cache.claimChanges(s, t)).to.deep.equal({ add: [claim('t')], remove: [claim('s')] });
    expect(cache.claimChanges(s, s)).to.deep.equal({ add: [], remove: [] });
    expect(cache.claimChanges(t, none)).to.deep.equal({ add: [], remove: [claim('t')] });
  });

  it('reports two loaded objects that share a unique value', () => {
    const cache = createPersonCache();
    const load = (...slugs: string[]): void => {
      cache.load(slugs.map((slug, i) => personEntry(cache, createPerson({ name: `n${i}` }, { slug }))));
    };
    load('a', 'b', 'c');
    expect(allSteps(cache.duplicate())).to.equal(undefined);
    load('a', 'b', 'a');
    expect(allSteps(cache.duplicate())).to.deep.equal({ index: 'spec.slug', value: 'a', keys: ['n0', 'n2'] });
  });

  it('indexes the namespace of a namespaced kind', () => {
    expect(createPersonCache('Namespaced').index('metadata.namespace')).to.not.equal(undefined);
    expect(createPersonCache('Cluster').index('metadata.namespace')).to.equal(undefined);
  });
});
