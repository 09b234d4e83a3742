import { expect } from 'chai';
import { shardOf } from './shard-of.ts';

describe('the shard of a key', () => {
  it('stays the same in every version of the program', () => {
    const keys = ['ada', 'home/ada', '', 'person-0', 'person-1', 'Ä/ß'];
    expect(keys.map((key) => shardOf(key, 16))).to.deep.equal([14, 0, 11, 13, 4, 3]);
  });

  it('spreads names that differ only in a number evenly over all shards', () => {
    const counts = Array.from({ length: 16 }, () => 0);
    for (let number = 0; number < 16_000; number += 1) {
      const shard = shardOf(`default/person-${number}`, 16);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    expect(Math.min(...counts)).to.be.above(850);
    expect(Math.max(...counts)).to.be.below(1150);
  });
});
