import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { schemaDifference } from './schema-difference.ts';

function model(properties: object, required: readonly string[] = []): ModelDescriptor {
  return defineModel({
    gvk: 'shop.example.com/v1/Order',
    plural: 'orders',
    schema: { type: 'object', properties: { spec: { type: 'object', required, properties } } },
  });
}

const text = { type: 'string' };

describe('schemaDifference', () => {
  it('finds no difference between schemas that differ only in descriptions', () => {
    expect(schemaDifference(model({ a: text }), model({ a: { ...text, description: 'for people' } }))).to.deep.equal(
      [],
    );
  });

  for (const [what, before, after, expected] of [
    ['an optional field', {}, { a: text }, ['added', 'string, optional', 'stored objects do not have this field']],
    [
      'a default',
      {},
      { a: { ...text, default: 'x' } },
      ['added', 'string, optional, default "x"', 'stored objects get the default at their next write'],
    ],
    [
      'a removed field',
      { a: text },
      {},
      ['removed', '', 'stored values are still read, and are removed at the next write of their object'],
    ],
    [
      'a stricter limit',
      { a: { ...text, maxLength: 9 } },
      { a: { ...text, maxLength: 3 } },
      [
        'changed',
        'maxLength: 9 → 3',
        'a stored value that does not fit is still read, and a write of its object is refused until the value fits',
      ],
    ],
    [
      'another type',
      { a: text },
      { a: { type: 'integer', minimum: 0 } },
      [
        'changed',
        'type: "string" → "integer", minimum: none → 0',
        'a stored value that does not fit is still read, and a write of its object is refused until the value fits',
      ],
    ],
    [
      'another default',
      { a: { ...text, default: 'x' } },
      { a: { ...text, default: 'y' } },
      ['changed', 'default: "x" → "y"', 'applies to later writes'],
    ],
  ] as const) {
    it(`reports ${what}, and its effect on stored objects`, () => {
      const [change, ...others] = schemaDifference(model(before), model(after));
      expect([change?.field, change?.change, change?.what, change?.meaning]).to.deep.equal(['spec.a', ...expected]);
      expect(others).to.deep.equal([]);
    });
  }

  it('reports a field that becomes required, and a field that is no longer required', () => {
    const [required] = schemaDifference(model({ a: text }), model({ a: text }, ['a']));
    expect(required?.what).to.equal('now required');
    expect(required?.meaning).to.equal('a write of a stored object is refused until the object has a value here');
    const [optional] = schemaDifference(model({ a: text }, ['a']), model({ a: text }));
    expect(optional?.what).to.equal('no longer required');
    expect(optional?.meaning).to.equal('nothing changes for stored objects');
  });

  it('names fields in lists and maps, and only the outermost of nested new fields', () => {
    const part = { type: 'object', properties: { name: text } };
    const after = model({
      whole: part,
      list: { type: 'array', items: { ...part, properties: { name: text, size: text } } },
      map: { type: 'object', additionalProperties: { type: 'string', maxLength: 3 } },
    });
    const before = model({
      list: { type: 'array', items: part },
      map: { type: 'object', additionalProperties: text },
    });
    expect(schemaDifference(before, after).map(({ field }) => field)).to.deep.equal([
      'spec.whole',
      'spec.list[].size',
      'spec.map{}',
    ]);
  });

  it("reports a changed field once when the schema refers to itself by $ref: '#'", () => {
    const nested = (spec: object): ModelDescriptor =>
      defineModel({
        gvk: 'shop.example.com/v1/Order',
        plural: 'orders',
        schema: { type: 'object', properties: { spec, previous: { $ref: '#' } } },
      });
    const changes = schemaDifference(
      nested({ type: 'object', properties: {} }),
      nested({ type: 'object', properties: { a: text } }),
    );
    expect(changes.map(({ field }) => field)).to.deep.equal(['spec.a']);
  });
});
