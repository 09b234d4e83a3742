import { expect } from 'chai';
import { allSteps } from '../../turns/steps.ts';
import { storedClaims } from './postgres-claims.ts';

describe('storedClaims, with rows of PostgreSQL', () => {
  it('reads the claims of a large kind in steps', () => {
    const all = { revision: 7, generation: 3, indexes: '1,2' };
    const rows = Array.from({ length: 10_000 }, (_, at) => ({ ...all, index: 1, value: `v${at}`, key: `/k${at}` }));
    const steps = storedClaims(rows);
    let count = 1;
    while (steps.next().done !== true) count += 1;
    expect(count).to.be.at.least(5);
    const { claims, ...rest } = allSteps(storedClaims(rows));
    expect(rest).to.deep.equal({ revision: 7, generation: 3, indexes: [1, 2] });
    expect(claims).to.have.length(rows.length);
    expect(claims[9_999]).to.deep.equal({ index: 1, value: 'v9999', key: '/k9999' });
  });
});
