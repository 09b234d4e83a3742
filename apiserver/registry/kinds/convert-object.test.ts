import { ApiError, defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { compileSchema } from '../../schema/compile-schema.ts';
import { convertObject } from './convert-object.ts';
import type { Convert } from './convert-object.ts';

const model: ModelDescriptor = defineModel({
  gvk: 'things.example.com/v2/Thing',
  plural: 'things',
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { size: { type: 'integer' }, unit: { type: 'string', default: 'mm' } } },
    },
  },
});
const rules = { model, schema: compileSchema(model), validateModel: undefined };

function thing(more: object = {}): ApiObject & { readonly spec: object } {
  const metadata = {
    name: 'a',
    uid: 'u',
    version: 3,
    resourceVersion: '7',
    generation: 2,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { team: 'red' },
    finalizers: ['example.com/hold'],
  };
  return { apiVersion: 'things.example.com/v1', kind: 'Thing', metadata, spec: { size: 3, ...more } };
}

describe('convertObject', () => {
  it('changes apiVersion, sets defaults and removes unknown fields when the model has no conversion function', () => {
    const converted = convertObject(thing({ old: 1 }), rules, undefined);
    expect(converted).to.deep.equal({ ...thing({ unit: 'mm' }), apiVersion: 'things.example.com/v2' });
  });

  it('passes a frozen object to the conversion function, and copies the result', () => {
    const spec = { size: 1 };
    const converted = convertObject(thing(), rules, (object) => {
      expect([Object.isFrozen(object), Object.isFrozen(object.metadata.labels)]).to.deep.equal([true, true]);
      return { spec };
    });
    expect(spec).to.deep.equal({ size: 1 });
    expect(converted).to.deep.include({ spec: { size: 1, unit: 'mm' }, metadata: thing().metadata });
  });

  it('takes only the labels and annotations from the metadata that the conversion function returns', () => {
    const metadata = { labels: { team: 'blue' }, annotations: { 'a.b/c': 'd' }, finalizers: [], version: 9 };
    const converted = convertObject(thing(), rules, () => ({ metadata }));
    const { labels, annotations } = metadata;
    expect(converted.metadata).to.deep.equal({ ...thing().metadata, labels, annotations });
  });

  const failures: readonly (readonly [what: string, convert: Convert, message: string])[] = [
    [
      'throws',
      () => {
        throw new Error('no size');
      },
      'no size',
    ],
    [
      'returns a Promise',
      () => Promise.reject(new Error('late')),
      'the conversion must be synchronous, but returned a Promise',
    ],
    ['returns no object', () => [1], 'the conversion must return an object'],
    [
      'returns a value that JSON cannot represent',
      () => ({ spec: { size: 1n } }),
      'the object has a bigint, which JSON cannot represent',
    ],
    [
      'changes the name',
      ({ metadata }) => ({ metadata: { ...metadata, name: 'b' } }),
      'the conversion must not change metadata.name',
    ],
    ['changes the uid', () => ({ metadata: { uid: 'x' } }), 'the conversion must not change metadata.uid'],
    [
      'returns invalid labels',
      () => ({ metadata: { labels: { a: 1 } } }),
      'the conversion returned invalid metadata: metadata.labels["a"]: Invalid value: number: expected a string',
    ],
  ];
  for (const [what, convert, message] of failures) {
    it(`fails with a message that names the kind and the versions, when the function ${what}`, () => {
      expect(() => convertObject(thing(), rules, convert)).to.throw(
        ApiError,
        `Thing "a" cannot be converted from things.example.com/v1 to things.example.com/v2: ${message}`,
      );
    });
  }
});
