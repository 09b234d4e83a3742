import { expect } from 'chai';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { allSteps } from '../../turns/steps.ts';
import { decodeObject, encodeObject, encodeSteps, inVersion, withRevision } from './object-codec.ts';

function person(spec: object): ApiObject & { spec: object } {
  const metadata = {
    name: 'ann',
    uid: 'u',
    version: 1,
    resourceVersion: '7',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  return { apiVersion: 'people.example.com/v1', kind: 'Person', metadata, spec };
}

describe('object codec', () => {
  it('stores objects without resourceVersion, and serves them with the revision of the commit', () => {
    const stored = encodeObject(person({ name: 'Ann' }));
    expect(stored.toString()).not.to.include('resourceVersion');
    expect(decodeObject(withRevision(stored, 42))).to.deep.equal({
      ...person({ name: 'Ann' }),
      metadata: { ...person({}).metadata, resourceVersion: '42' },
    });
  });

  it('inserts resourceVersion into metadata even when a string of the object looks like metadata with a resourceVersion', () => {
    const tricky = person({ text: '"metadata":{"resourceVersion":"1"', metadata: { a: 'ü€😀' } });
    const served = decodeObject<typeof tricky>(withRevision(encodeObject(tricky), 9));
    expect(served.metadata.resourceVersion).to.equal('9');
    expect(served.spec).to.deep.equal(tricky.spec);
  });

  it('puts apiVersion, kind and metadata first, even if metadata is the last field of the object', () => {
    const { metadata, ...rest } = person({ name: 'Ann' });
    expect(encodeObject({ ...rest, metadata }).toString()).to.match(
      /^\{"apiVersion":"people.example.com\/v1","kind":"Person","metadata":\{/,
    );
  });

  it('encodes an object in steps to the same bytes as in one step', () => {
    const { metadata, ...rest } = person({ text: 'ü€😀', list: [1, { a: null }], none: undefined });
    const managedFields = [{ manager: 'a', operation: 'Apply' as const, apiVersion: 'v1', fieldsV1: { 'f:spec': {} } }];
    for (const object of [
      person({}),
      { ...rest, metadata: { ...metadata, managedFields, resourceVersion: '7', labels: { a: '"' } } },
      { status: {}, ...rest, metadata, __proto__: null, call: () => undefined },
    ] as ApiObject[]) {
      expect(allSteps(encodeSteps(object)).toString()).to.equal(encodeObject(object).toString());
    }
  });

  it('puts the bytes for clients in memory of their own, not in a shared pool', () => {
    const served = withRevision(encodeObject(person({})), 1);
    expect(served.buffer.byteLength).to.equal(served.length);
  });

  it('serves an object with the requested apiVersion, which may be longer or shorter than the stored apiVersion', () => {
    const stored = encodeObject(person({ name: 'Ann' }));
    for (const apiVersion of ['people.example.com/v1alpha1', 'v1']) {
      const object = decodeObject(Buffer.from(inVersion(stored, apiVersion)));
      expect(object).to.deep.equal({ ...decodeObject(stored), apiVersion });
    }
    expect(inVersion(stored, 'people.example.com/v1')).to.equal(stored);
  });
});
