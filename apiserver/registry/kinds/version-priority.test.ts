import { expect } from 'chai';
import { compareVersions } from './version-priority.ts';

describe('compareVersions', () => {
  it('prefers stable versions; among equally stable ones, it prefers the newer one', () => {
    const preferred = [
      'v10',
      'v2',
      'v1',
      'v11beta2',
      'v2beta1',
      'v1beta10',
      'v1beta2',
      'v2alpha1',
      'v1alpha2',
      'v1alpha1',
    ];
    expect([...preferred].sort().sort(compareVersions)).to.deep.equal(preferred);
    expect(compareVersions('v1', 'v1')).to.equal(0);
  });
});
