import { expect } from 'chai';
import fc from 'fast-check';
import { Pace } from '../turns/pace.ts';
import { allSteps } from '../turns/steps.ts';
import { differenceSteps, intersectionSteps, partsOf, unionOfAll, unionSteps } from './field-set-steps.ts';
import { countMembers, difference, intersection, leaf, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';

const path = fc.array(fc.constantFrom('f:a', 'f:b', 'k:{"n":1}', 'v:"x"'), { minLength: 1, maxLength: 3 });
const sets = fc.array(path, { maxLength: 8 }).map(setOf);

function setOf(members: readonly (readonly string[])[]): FieldSet {
  const node = (rest: readonly string[]): FieldSet =>
    rest.length === 0 ? leaf : { [rest[0] as string]: node(rest.slice(1)) };
  return members.reduce<FieldSet>((set, member) => union(set, node(member)), leaf);
}

/** Returns a set of fields with two lists. The keys of their items are the multiples of `every` below 5,000. */
function largeSet(every: number): FieldSet {
  const items = Array.from({ length: 5000 }, (_, index) => index).filter((index) => index % every === 0);
  const list = Object.fromEntries(items.map((index) => [`k:{"k":${index}}`, { '.': leaf, 'f:k': leaf }]));
  return { 'f:spec': { 'f:a': { '.': leaf, ...list }, 'f:b': list, 'f:c': leaf } };
}

describe('the parts of a set of fields', () => {
  it('have at most the given number of members, and their union is the set', () => {
    fc.assert(
      fc.property(sets, fc.integer({ min: 1, max: 4 }), (set, maxNodes) => {
        const parts = [...partsOf(set, maxNodes)];
        for (const part of parts) expect(countMembers(part)).to.be.at.most(maxNodes);
        expect(parts.reduce(union, leaf)).to.deep.equal(set);
      }),
    );
  });

  it('give the same result as the whole set when they are subtracted from another set one after the other', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        expect([...partsOf(b, 2)].reduce((rest, part) => difference(rest, part), a)).to.deep.equal(difference(a, b));
      }),
    );
  });
});

describe('an operation in steps on sets of fields', () => {
  const [a, b] = [largeSet(2), largeSet(3)];

  it('takes several steps, and has the same result as the operation without steps', () => {
    for (const [steps, expected] of [
      [differenceSteps(a, b), difference(a, b)],
      [unionSteps(a, b), union(a, b)],
      [intersectionSteps(a, b), intersection(a, b)],
    ] as const) {
      let count = 1;
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) count += 1;
      expect(step.value).to.deep.equal(expected);
      expect(count).to.be.at.least(3);
    }
  });

  it('unites any number of sets', () => {
    fc.assert(
      fc.property(fc.array(sets, { maxLength: 5 }), (many) => {
        expect(allSteps(unionOfAll(many, new Pace()))).to.deep.equal(many.reduce(union, leaf));
      }),
    );
  });
});
