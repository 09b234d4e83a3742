import { expect } from 'chai';
import { sweptFaults } from './fault-plan.ts';

describe('sweptFaults', () => {
  it('yields plans that together put faults in all reads and in all calls to external systems, or in 100 of the reads and 100 of the calls if there are more', () => {
    for (const count of [0, 1, 99, 100, 101, 102, 105, 107, 2_999]) {
      const plans = [...sweptFaults({ writes: [], events: 0, reads: count, calls: count })];
      const [reads, calls] = [
        plans.flatMap((plan) => [...plan.atRead.keys()]),
        plans.flatMap((plan) => [...plan.atCall.keys()]),
      ];
      expect(reads, `${count} reads`).to.have.length(Math.min(count, 100));
      expect([reads.every((read) => read >= 1 && read <= count), new Set(reads).size]).to.deep.equal([
        true,
        reads.length,
      ]);
      expect(new Set(calls)).to.deep.equal(new Set(reads));
    }
  });
});
