import { expect } from 'chai';
import { operationId, OperationIds } from './operation-id.ts';

describe('operationId', () => {
  it('joins words in camel case, and splits words at every character that is not a letter or digit', () => {
    expect(operationId('list', 'a-b.example.com', 'v1alpha1', '', 'Person')).to.equal('listABExampleComV1alpha1Person');
  });
});

describe('OperationIds', () => {
  it('adds a number to repeated ids, even if another operation already has an id with such a number', () => {
    const get = (id: string) => ({ get: { operationId: id, tags: [], responses: {} } });
    const paths = new OperationIds().unique({ '/a': get('x'), '/b': get('x_2'), '/c': get('x'), '/d': get('x') });
    const ids = Object.values(paths).map((item) => item.get?.operationId);
    expect(new Set(ids).size).to.equal(4);
    expect(ids.slice(0, 2)).to.deep.equal(['x', 'x_2']);
  });
});
