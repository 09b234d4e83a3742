import { expect } from 'chai';
import { StoreError } from '../../store/store-error.ts';
import { notReady } from '../kinds/resource.ts';
import { storeUnavailable } from './resource-errors.ts';

describe('a write that failed in the store', () => {
  it('becomes a 503 when nothing is stored, and a 504 when it is unknown whether the write is stored', () => {
    const refused = storeUnavailable(new StoreError('io', 'inner text'));
    const unknown = storeUnavailable(new StoreError('unknown', 'inner text'));
    expect([refused.code, refused.reason, unknown.code, unknown.reason]).to.deep.equal([
      503,
      'ServiceUnavailable',
      504,
      'Timeout',
    ]);
    expect(unknown.message).to.include('not known');
    for (const error of [refused, unknown]) {
      expect(error.retryAfterSeconds).to.equal(1);
      expect(error.message).not.to.include('inner text');
    }
  });
});

describe('a kind that is being indexed', () => {
  it('is named in the error by its plural and its group, or only by its plural in the core group', () => {
    const [ofCore, ofGroup] = ['', 'a.example.com'].map((group) => notReady({ group, plural: 'things' }).message);
    expect([ofCore, ofGroup]).to.deep.equal([
      'things is being indexed; try again',
      'things.a.example.com is being indexed; try again',
    ]);
  });
});
