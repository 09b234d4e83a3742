import { expect } from 'chai';
import { checkDescriptor, defineModel, defineVersions, descriptorOf, ModelError } from '../index.ts';
import type { ModelDescriptor, ModelVersion } from '../index.ts';
import { Person } from '../person.fixture.ts';

function thing(version: string, changes: Partial<ModelDescriptor> = {}): ModelDescriptor {
  const model: ModelDescriptor = defineModel({
    group: 'things.example.com',
    version,
    kind: 'Thing',
    plural: 'things',
    schema: { type: 'object', properties: { spec: { type: 'string' } } },
  });
  return { ...model, ...changes };
}

const rules = { serviceDomain: 'homeostat.internal' };
const convert = { toStorage: () => ({}), fromStorage: () => ({}) };

describe('defineVersions', () => {
  it('returns the descriptor of the stored version, with the other versions in the property versions; the result is frozen', () => {
    const kind = defineVersions(Person, [{ model: thing('v1') }]);
    expect(kind).to.deep.include({ ...descriptorOf(Person), versions: [{ model: thing('v1') }] });
    expect([Object.isFrozen(kind), Object.isFrozen(kind.versions)]).to.deep.equal([true, true]);
  });

  it('infers the types of each conversion from the two versions', () => {
    const number = defineModel({
      gvk: 'things.example.com/v2/Thing',
      plural: 'things',
      schema: { type: 'object', properties: { size: { type: 'integer' } } } as const,
    });
    const text = defineModel({
      gvk: 'things.example.com/v1/Thing',
      plural: 'things',
      schema: { type: 'object', properties: { extent: { type: 'string' } } } as const,
    });
    const kind = defineVersions(number, [
      {
        model: text,
        toStorage: ({ extent = '' }) => ({ size: extent.length }),
        fromStorage: ({ size = 0 }) => ({ extent: 'x'.repeat(size) }),
      },
      // @ts-expect-error an extent is no number
      { model: text, toStorage: ({ extent }) => ({ size: extent }), fromStorage: () => ({}) },
    ]);
    expect(kind.versions).to.have.length(2);
  });

  const broken: readonly (readonly [what: string, versions: readonly ModelVersion[], rule: string])[] = [
    ['the same version twice', [{ model: thing('v2') }], 'must each have a different version'],
    [
      'a version with another plural',
      [{ model: thing('v1', { plural: 'stuff' }) }],
      'v1 must have the plural "things", as v2 has',
    ],
    [
      'a version with another scope',
      [{ model: thing('v1', { scope: 'Namespaced' }) }],
      'v1 must have the scope "Cluster", as v2 has',
    ],
    [
      'a version with versions of its own',
      [{ model: defineVersions(thing('v1'), [{ model: thing('v1beta1') }]) }],
      'v1 must not have versions of its own',
    ],
    [
      'a version with indexes',
      [{ model: { ...thing('v1'), indexes: descriptorOf(indexed()).indexes } }],
      'v1 must not declare indexes: the indexes of v2 apply to all versions',
    ],
    [
      'a version with only one conversion function',
      [{ model: thing('v1'), toStorage: convert.toStorage }],
      'v1 must have both functions toStorage and fromStorage, or neither',
    ],
  ];
  for (const [what, versions, rule] of broken) {
    it(`a kind with ${what} is refused at registration`, () => {
      const kind = { ...thing('v2'), versions };
      expect(() => checkDescriptor(kind, rules)).to.throw(ModelError, `versions: ${rule}`);
    });
  }

  it('a kind is refused at registration when no version is served, and accepted when only a version other than the stored one is served', () => {
    const hidden = thing('v2', { served: false });
    const check = (served: boolean): void =>
      checkDescriptor(defineVersions(hidden, [{ model: thing('v1', { served }), ...convert }]), rules);
    expect(() => check(false)).to.throw(ModelError, 'versions: must include a version that is served');
    expect(() => check(true)).not.to.throw();
    expect(() => checkDescriptor(hidden, rules)).to.throw(
      ModelError,
      'versions: must include a version that is served',
    );
  });

  it('a kind is refused at registration when a non-storage version breaks a model rule or has an invalid deprecation warning', () => {
    const check = (changes: Partial<ModelDescriptor>): void =>
      checkDescriptor(defineVersions(thing('v2'), [{ model: thing('v1', changes) }]), rules);
    expect(() => check({ shortNames: ['T'] })).to.throw(ModelError, 'shortNames');
    expect(() => check({ deprecated: 'line\nbreak' })).to.throw(ModelError, 'deprecated');
    expect(() => check({ deprecated: 'use v2' })).not.to.throw();
  });
});

function indexed(): ModelDescriptor {
  return defineModel({
    gvk: 'things.example.com/v1/Thing',
    plural: 'things',
    schema: { type: 'object', properties: { spec: { type: 'string' } } },
    indexes: ['spec'],
  });
}
