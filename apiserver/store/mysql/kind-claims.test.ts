import { expect } from 'chai';
import { allSteps } from '../../turns/steps.ts';
import { storedClaims } from './kind-claims.ts';

describe('storedClaims, with rows of MySQL', () => {
  it('reads the claims of a large kind in steps', () => {
    const rows = Array.from({ length: 10_000 }, (_, at) => [7, 3, '1,2', 1, `v${at}`, `/k${at}`]);
    const steps = storedClaims(rows);
    let count = 1;
    while (steps.next().done !== true) count += 1;
    expect(count).to.be.at.least(5);
    const { claims, ...rest } = allSteps(storedClaims(rows));
    expect(rest).to.deep.equal({ revision: 7, generation: 3, indexes: [1, 2] });
    expect(claims).to.have.length(rows.length);
    expect(claims[9_999]).to.deep.equal({ index: 1, value: 'v9999', key: '/k9999' });
  });

  it('returns no claims for a kind without claims', () => {
    const none = allSteps(storedClaims([[7, null, null, null, null, null]]));
    expect(none).to.deep.equal({ revision: 7, generation: 0, indexes: [], claims: [] });
  });
});
