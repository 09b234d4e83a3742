import { expect } from 'chai';
import { metadataFieldNames, metadataShapeErrors, ownerReferenceFieldNames } from './metadata-shape.ts';

function found(metadata: unknown): string[] {
  return metadataShapeErrors(metadata).map(({ field, message }) => `${field}: ${message}`);
}

describe('metadataShapeErrors', () => {
  it('finds each value of a wrong type, and reports its path and the expected type', () => {
    const metadata = {
      name: 5,
      labels: { a: 1, 'example.com/b': null },
      annotations: [],
      finalizers: 'x',
      ownerReferences: [{ controller: 'yes' }, 7],
      managedFields: [null],
      version: 1.5,
    };
    expect(found(metadata)).to.deep.equal([
      'metadata.name: Invalid value: number: expected a string',
      'metadata.version: Invalid value: number: expected an integer',
      'metadata.finalizers: Invalid value: string: expected an array',
      'metadata.labels["a"]: Invalid value: number: expected a string',
      'metadata.labels["example.com/b"]: Invalid value: null: expected a string',
      'metadata.annotations: Invalid value: array: expected an object',
      'metadata.ownerReferences[0].controller: Invalid value: string: expected a boolean',
      'metadata.ownerReferences[1]: Invalid value: number: expected an object',
      'metadata.managedFields[0]: Invalid value: null: expected an object',
    ]);
  });

  it('reports metadata that is not an object', () => {
    for (const metadata of [null, 'x', [], 5]) expect(found(metadata)).to.have.length(1);
  });

  it('treats null as an absent field, and ignores unknown fields', () => {
    expect(found({ name: 'a', creationTimestamp: null, labels: null, unknown: { a: 1 } })).to.deep.equal([]);
  });

  it('accepts metadata that the server itself writes', () => {
    const metadata = {
      name: 'a',
      uid: 'u',
      version: 1,
      resourceVersion: '7',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 0,
      finalizers: ['a/b'],
      labels: { a: 'b' },
      annotations: { a: 'b' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u', controller: true, blockOwnerDeletion: true },
      ],
      managedFields: [{ manager: 'm' }],
    };
    expect(found(metadata)).to.deep.equal([]);
    expect(Object.keys(metadata).filter((name) => !metadataFieldNames.has(name))).to.deep.equal([]);
    const [reference] = metadata.ownerReferences;
    expect([...ownerReferenceFieldNames]).to.have.members(Object.keys(reference ?? {}));
  });

  it('reports at most 100 errors', () => {
    expect(metadataShapeErrors({ finalizers: Array.from({ length: 5000 }, () => 1) })).to.have.length(100);
  });
});
