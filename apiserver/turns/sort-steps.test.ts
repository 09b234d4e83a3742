import { expect } from 'chai';
import { assert, integer, array, property, tuple } from 'fast-check';
import { sortSteps } from './sort-steps.ts';
import { allSteps } from './steps.ts';

type Item = readonly [value: number, place: number];

const byValue = ([a]: Item, [b]: Item): number => a - b;

describe('sortSteps', () => {
  it('sorts stably, like Array.prototype.sort, whatever the order of the list is', () => {
    const runs = tuple(
      integer({ min: 1, max: 9000 }),
      array(integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 50 }),
    );
    assert(
      property(runs, ([length, values]) => {
        const items = Array.from({ length }, (_, at): Item => [values[(at * 31) % values.length] as number, at]);
        expect(allSteps(sortSteps(items, byValue))).to.deep.equal(items.toSorted(byValue));
      }),
      { numRuns: 25 },
    );
    expect(allSteps(sortSteps([], byValue))).to.deep.equal([]);
  });

  it('sorts 100,000 items in 500 to 1000 steps, and does not change the given list', () => {
    const items = Array.from({ length: 100_000 }, (_, at): Item => [(at * 7919) % 100_000, at]);
    const before = [...items];
    const steps = sortSteps(items, byValue);
    let count = 1;
    while (steps.next().done !== true) count += 1;
    expect(count).to.be.within(500, 1000);
    expect(items).to.deep.equal(before);
  });
});
