import { expect } from 'chai';
import { planShards, type SeenShard } from './shard-balance.ts';

/** Makes a shard for each character of a text: the character is the owner, and `-` means a free shard. */
const seen = (owners: string): readonly SeenShard[] =>
  owners.split('').map((owner, index) => {
    const isFree = owner === '-';
    return { index, owner: isFree ? undefined : owner, isFree, canAsk: !isFree && owner !== 'a' };
  });

describe('the plan of a process that shares shards', () => {
  it('takes all free shards when there is no other process', () => {
    expect(planShards('a', seen('----'))).to.deep.equal({ take: [0, 1, 2, 3], ask: [] });
  });

  it('takes free shards only up to the share of the process, and leaves the rest to others', () => {
    expect(planShards('a', seen('-ab-bab-'))).to.deep.equal({ take: [0, 3], ask: [] });
  });

  it('requests shards from the process with the most, while that process has at least two more than this process', () => {
    expect(planShards('a', seen('bbbbcc')).ask).to.deep.equal([0, 1]);
    expect(planShards('a', seen('bbbcccdd')).ask).to.deep.equal([0, 3]);
    expect(planShards('a', seen('abbc'))).to.deep.equal({ take: [], ask: [] });
  });

  it('requests no shard when this process has none and each other process has only one', () => {
    expect(planShards('a', seen('bcd'))).to.deep.equal({ take: [], ask: [] });
  });

  it('leads to an even distribution of the shards, regardless of which process has which shard at first', () => {
    for (let seed = 1; seed < 200; seed += 1) {
      let owners = Array.from({ length: 16 }, (_, index) => 'abcde-'[(seed * (index + 7) * (index + seed)) % 6] ?? '-');
      for (let round = 0; round < 20; round += 1) {
        for (const me of 'abcde'.split('')) {
          const plan = planShards(
            me,
            owners.map((owner, index) => ({
              index,
              owner: owner === '-' ? undefined : owner,
              isFree: owner === '-',
              canAsk: owner !== '-' && owner !== me,
            })),
          );
          owners = owners.map((owner, index) => ([...plan.take, ...plan.ask].includes(index) ? me : owner));
        }
      }
      const counts = 'abcde'.split('').map((name) => owners.filter((owner) => owner === name).length);
      expect(
        counts.toSorted((a, b) => a - b),
        owners.join(''),
      ).to.deep.equal([3, 3, 3, 3, 4]);
    }
  });
});
