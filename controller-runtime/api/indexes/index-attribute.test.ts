import { expect } from 'chai';
import { defaultIndexes } from './default-indexes.ts';
import { IndexAttributeFactory, multiValueAttribute, simpleAttribute } from './index-attribute.ts';
import type { ApiObject } from '../object/object.ts';
import { Person } from '../person.fixture.ts';

const person = new Person();

describe('simpleAttribute', () => {
  it('returns one value, or no value for undefined and null [spec 2.8-simple-attribute]', () => {
    expect(simpleAttribute(Person, () => 'x').valuesOf(person)).to.deep.equal(['x']);
    expect(simpleAttribute(Person, () => '').valuesOf(person)).to.deep.equal(['']);
    expect(simpleAttribute(Person, () => undefined).valuesOf(person)).to.deep.equal([]);
    expect(simpleAttribute(Person, () => null).valuesOf(person)).to.deep.equal([]);
  });

  it('refuses a value that is not a string, and names the model and the value [spec 2.8-strings]', () => {
    for (const [value, text] of [
      [42, 'the number 42'],
      [true, 'the boolean true'],
      [{}, 'a value of type object'],
    ] as const) {
      const attribute = simpleAttribute(Person, () => value as never);
      expect(() => attribute.valuesOf(person)).to.throw(TypeError, `index function of Person returned ${text}`);
    }
  });

  it('rethrows an error that the author’s function throws', () => {
    const attribute = simpleAttribute(Person, ({ spec }) => spec.name);
    expect(() => attribute.valuesOf(person)).to.throw(TypeError, 'name');
  });
});

describe('multiValueAttribute', () => {
  it('accepts sets and arrays, and returns distinct values in the order of code points [spec 2.8-multi-value-attribute]', () => {
    const values = ['b', '\u{1f600}', '\uff5e', 'a', 'b', 'ab'];
    const sorted = ['a', 'ab', 'b', '\uff5e', '\u{1f600}'];
    expect(multiValueAttribute(Person, () => values).valuesOf(person)).to.deep.equal(sorted);
    expect(multiValueAttribute(Person, () => new Set(values)).valuesOf(person)).to.deep.equal(sorted);
  });

  it('replaces an absent set with the empty set [spec 2.8-absent-set]', () => {
    expect(multiValueAttribute(Person, () => undefined).valuesOf(person)).to.deep.equal([]);
    expect(multiValueAttribute(Person, () => null).valuesOf(person)).to.deep.equal([]);
  });

  it('refuses a plain string and values that are not strings [spec 2.8-strings]', () => {
    expect(() => multiValueAttribute(Person, () => 'abc' as never).valuesOf(person)).to.throw(
      TypeError,
      'the string "abc"',
    );
    expect(() => multiValueAttribute(Person, () => ['a', 1] as never).valuesOf(person)).to.throw(
      TypeError,
      'the number 1',
    );
    expect(() => multiValueAttribute(Person, () => ['a', null] as never).valuesOf(person)).to.throw(TypeError, 'null');
  });

  it('is a member of IndexAttributeFactory, like simpleAttribute [spec 2.8-simple-attribute, 2.8-multi-value-attribute]', () => {
    expect(IndexAttributeFactory.multiValueAttribute(Person, () => ['a']).valuesOf(person)).to.deep.equal(['a']);
    expect(IndexAttributeFactory.simpleAttribute(Person, () => 'a').valuesOf(person)).to.deep.equal(['a']);
  });
});

describe('defaultIndexes', () => {
  it('returns the four indexes of the specification; only the index of the name is unique [spec 2.8-default-name, 2.8-default-labels, 2.8-default-creation-timestamp, 2.8-default-deletion-timestamp]', () => {
    expect(defaultIndexes().map(({ name, unique, indexFunc }) => [name, unique, indexFunc.multiValued])).to.deep.equal([
      ['metadata.name', true, false],
      ['metadata.labels', false, true],
      ['metadata.creationTimestamp', false, false],
      ['metadata.deletionTimestamp', false, false],
    ]);
  });

  it('returns indexes in which a label has the value key=value, and an absent field has no value', () => {
    const metadata = { name: 'a', creationTimestamp: '2024-01-01T00:00:00Z' } as ApiObject['metadata'];
    const values = (object: ApiObject): unknown => defaultIndexes().map(({ indexFunc }) => indexFunc.valuesOf(object));
    const object: ApiObject = { apiVersion: 'v1', kind: 'A', metadata };
    expect(values(object)).to.deep.equal([['a'], [], ['2024-01-01T00:00:00Z'], []]);
    const labelled = { ...object, metadata: { ...metadata, labels: { b: '1', a: '2' } } };
    expect(values(labelled)).to.deep.equal([['a'], ['a=2', 'b=1'], ['2024-01-01T00:00:00Z'], []]);
  });
});
