import type { Selector } from '@homeostat/controller-runtime/api';
import { IndexSpec, reasonOf } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { KindCache } from '../kind-cache.ts';
import { createPerson, createPersonCache, personEntry, personDescriptor } from '../person.fixture.ts';
import type { QueryOptions } from './query.ts';
import { compileQuery, matches } from './query.ts';

function refusal(options: QueryOptions): string {
  try {
    compileQuery(createPersonCache(), options);
  } catch (error) {
    expect(reasonOf(error)).to.equal('BadRequest');
    return (error as Error).message;
  }
  throw new Error('was not refused');
}

const requirement = (key: string, ...values: string[]): Selector => [{ key, operator: 'in', values }];

describe('compileQuery', () => {
  it('names a field that is not indexed, and lists the indexed fields [spec 1-indexed-only]', () => {
    const indexed =
      'metadata.name, metadata.labels, metadata.creationTimestamp, metadata.deletionTimestamp, ' +
      'spec.name, spec.age, spec.tags, spec.slug, spec.team';
    expect(refusal({ fieldSelector: requirement('spec.x', '1') })).to.equal(
      `field label not supported: spec.x (indexed: ${indexed})`,
    );
    expect(refusal({ sort: [{ field: 'spec.x' }] })).to.equal(`sort field not supported: spec.x (indexed: ${indexed})`);
  });

  it('refuses a value in a selector that is not valid for the index', () => {
    expect(refusal({ fieldSelector: requirement('spec.age', 'old') })).to.equal(
      'field selector: bad value for "spec.age": NaN is no age',
    );
  });

  it('refuses > and < for fields, and for labels if the operand is not a number', () => {
    expect(refusal({ fieldSelector: [{ key: 'spec.age', operator: 'gt', values: ['1'] }] })).to.contain('labels only');
    expect(refusal({ labelSelector: [{ key: 'a', operator: 'lt', values: ['x'] }] })).to.contain('not a whole number');
  });

  it('uses name and creationTimestamp as short names of metadata fields, unless an index has that name', () => {
    const fieldOf = (cache: KindCache, field: string) =>
      compileQuery(cache, { sort: [{ field }] }).order[0]?.index.spec.name;
    const own = new IndexSpec({ name: 'name', indexFunc: { multiValued: false, valuesOf: () => [] } });
    const plain = createPersonCache();
    const cache = new KindCache(personDescriptor(), [...plain.indexes.map((index) => index.spec), own]);
    expect(fieldOf(plain, 'name')).to.equal('metadata.name');
    expect(fieldOf(plain, 'creationTimestamp')).to.equal('metadata.creationTimestamp');
    expect(fieldOf(cache, 'name')).to.equal('name');
  });

  it('sorts the newest objects first by default, and in the direction of the index if the sort names no direction', () => {
    const cache = createPersonCache();
    const orderOf = (options: QueryOptions) =>
      compileQuery(cache, options).order.map(
        ({ index, descending }) => `${index.spec.name} ${descending ? 'desc' : 'asc'}`,
      );
    expect(orderOf({})).to.deep.equal(['metadata.creationTimestamp desc']);
    expect(
      orderOf({ sort: [{ field: 'spec.team' }, { field: 'spec.name' }, { field: 'spec.age', direction: 'desc' }] }),
    ).to.deep.equal(['spec.team desc', 'spec.name asc', 'spec.age desc']);
  });

  it('returns equal canonical forms for requests with the same requirements in any order', () => {
    const [name, team] = [requirement('spec.name', 'Ada', 'Bob'), requirement('spec.team', 'red')];
    const canonical = (...fieldSelector: Selector): string =>
      compileQuery(createPersonCache(), { fieldSelector }).canonical;
    const expected = canonical(...name, ...team);
    expect(canonical(...team, ...requirement('spec.name', 'Bob', 'Ada', 'Bob'))).to.equal(expected);
    const others = [name, team, [...name, ...requirement('spec.team', 'blue')]];
    for (const other of others) expect(canonical(...other)).not.to.equal(expected);
    expect(canonical({ key: 'spec.name', operator: 'notin', values: ['Ada', 'Bob'] }, ...team)).not.to.equal(expected);
  });

  it('treats metadata.namespace as absent in a cluster-scoped kind', () => {
    const cache = createPersonCache();
    const ann = personEntry(cache, createPerson({ name: 'ann' }));
    const isSelected = (operator: 'in' | 'notin' | 'exists' | 'absent') => {
      const values = operator === 'in' || operator === 'notin' ? ['x'] : [];
      return matches(compileQuery(cache, { fieldSelector: [{ key: 'metadata.namespace', operator, values }] }), ann);
    };
    expect([isSelected('in'), isSelected('exists'), isSelected('notin'), isSelected('absent')]).to.deep.equal([
      false,
      false,
      true,
      true,
    ]);
  });

  it('> and < compare labels as whole numbers below 2^63, and select no object whose label is not such a number', () => {
    const cache = createPersonCache();
    const isSelected = (label: string, operator: 'gt' | 'lt', limit: string) => {
      const query = compileQuery(cache, { labelSelector: [{ key: 'n', operator, values: [limit] }] });
      return matches(query, personEntry(cache, createPerson({ name: 'ann', labels: { n: label } })));
    };
    expect(isSelected('10', 'gt', '9')).to.equal(true);
    expect(isSelected('9', 'gt', '9')).to.equal(false);
    expect(isSelected('0008', 'lt', '9')).to.equal(true);
    expect(isSelected('9223372036854775807', 'gt', '9223372036854775806')).to.equal(true);
    expect(isSelected('9223372036854775808', 'gt', '1')).to.equal(false);
    expect(isSelected('1.5', 'gt', '1')).to.equal(false);
    expect(isSelected('', 'lt', '1')).to.equal(false);
  });
});

describe('matches', () => {
  it('gives the same result for objects with many labels and values as for objects with few', () => {
    const cache = createPersonCache();
    const few = { a: '5', app: 'x', zone: '' };
    const filling = Array.from({ length: 100 }, (_, at) => [`l${at}`, 'v'] as const);
    const many = { ...Object.fromEntries(filling), ...few };
    const tags = ['b', 'd', '\u{1F600}', '\uFFFD'];
    const moreTags = [...tags, ...filling.map(([name]) => name)];
    const entries = [personEntry(cache, createPerson({ name: 'few', labels: few }, { tags }))].concat(
      personEntry(cache, createPerson({ name: 'many', labels: many }, { tags: moreTags })),
    );
    const long = Array.from({ length: 200 }, (_, at) => `other${at}`);
    const selectors: readonly QueryOptions[] = [
      ...(['in', 'notin'] as const).flatMap((operator) =>
        [['x'], ['y'], ['w', 'x'], long, [...long, 'x']].map((values) => ({
          labelSelector: [{ key: 'app', operator, values }],
        })),
      ),
      ...['app', 'none', 'zone', 'zz', '0', 'ap'].flatMap((key) =>
        (['exists', 'absent'] as const).map((operator) => ({ labelSelector: [{ key, operator, values: [] }] })),
      ),
      ...['4', '5', '6'].flatMap((value) =>
        (['gt', 'lt'] as const).map((operator) => ({ labelSelector: [{ key: 'a', operator, values: [value] }] })),
      ),
      ...['\u{1F600}', '\uFFFD', 'c', 'd'].map((tag) => ({ fieldSelector: requirement('spec.tags', tag) })),
      { fieldSelector: [{ key: 'spec.tags', operator: 'exists' as const, values: [] }] },
    ];
    const found = selectors.map((options) => entries.map((entry) => matches(compileQuery(cache, options), entry)));
    for (const [at, [ofFew, ofMany]] of found.entries()) expect(ofMany, JSON.stringify(selectors[at])).to.equal(ofFew);
    expect(found.flat().filter(Boolean)).to.have.length(2 * 17);
  });
});
