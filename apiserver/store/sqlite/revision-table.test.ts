import { expect } from 'chai';
import fc from 'fast-check';

import { RevisionTable } from './revision-table.ts';

/** The hashes of the objects, by their revisions. */
type Model = Map<number, number>;

interface Step {
  readonly verb: 'add' | 'replace' | 'remove';
  readonly hash: number;
  readonly chosen: number;
}

/** Hashes: often equal, of neighbouring slots, or of slots at the end of the table; otherwise any. */
const hash = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom(14, 15, 31, 0xff_ff_ff_ff), fc.nat());
const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom('add', 'add', 'replace', 'remove'),
  hash,
  chosen: fc.nat(),
});

function apply(table: RevisionTable, model: Model, { verb, hash: fresh, chosen }: Step, next: number): void {
  const [revision = 0, known = fresh] = [...model][chosen % Math.max(model.size, 1)] ?? [];
  if (verb === 'add' || revision === 0) {
    table.add(fresh, next);
    model.set(next, fresh);
    return;
  }
  expect(table.remove(known, next)).to.equal(false);
  model.delete(revision);
  if (verb === 'remove') {
    expect(table.remove(known, revision)).to.equal(true);
    return;
  }
  expect(table.replace(known, revision, next)).to.equal(true);
  expect(table.replace(known, revision, next)).to.equal(false);
  model.set(next, known);
}

describe('RevisionTable', () => {
  it('has the same revisions as a map after any additions, replacements and removals', () => {
    const property = fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const table = new RevisionTable();
      const model: Model = new Map();
      for (const [at, each] of steps.entries()) apply(table, model, each, at + 1);
      expect(table.size).to.equal(model.size);
      const all = new Float64Array(model.size + 1);
      expect(table.copyTo(all, 1)).to.equal(model.size + 1);
      expect([...all.subarray(1)]).to.have.members([...model.keys()]);
      for (const [revision, known] of model) {
        expect(table.find(known, (found) => found === revision)).to.equal(revision);
      }
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('find(hash, isFound) returns a revision with this hash for which isFound returns true, or 0 if there is none', () => {
    const table = new RevisionTable();
    for (let revision = 1; revision <= 20; revision += 1) table.add(7, revision);
    expect(table.find(7, (revision) => revision > 12)).to.be.above(12);
    expect([table.find(7, () => false), table.find(8, () => true)]).to.deep.equal([0, 0]);
  });
});
