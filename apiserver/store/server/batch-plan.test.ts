import { expect } from 'chai';

import { type BatchState, claimId, needsOf, planBatch } from './batch-plan.ts';
import { bytes, create, key, kind } from '../store-operations.fixture.ts';
import type { Claim, Operation } from '../store.ts';

const claim: Claim = [1, 'v'];
const row = { kind, index: 1, value: '=v' };

function state(revisions: Record<string, number>, holder?: string): BatchState {
  return {
    revision: 10,
    generations: new Map([[kind, 4]]),
    revisions: new Map(Object.entries(revisions).map(([name, revision]) => [key(name), revision])),
    holders: new Map(holder === undefined ? [] : [[claimId(row), key(holder)]]),
  };
}

function update(name: string, expected: number, unique: NonNullable<Operation['unique']>): Operation {
  return { op: 'update', key: key(name), kind, expect: expected, data: bytes('u'), unique };
}

describe('the plan of a batch', () => {
  it('gives revisions only to written operations, so that conflicts leave no gap', () => {
    const batch = [create('a', ''), create('b', ''), create('c', '')];
    const { outcomes, revision, writes } = planBatch(batch, state({ b: 3 }));
    expect(outcomes).to.deep.equal([{ revision: 11 }, { conflict: 'exists' }, { revision: 12 }]);
    expect([revision, writes.length]).to.deep.equal([12, 2]);
  });

  it('gives a claim to another object when one operation of the batch releases the claim and a later one takes it', () => {
    const batch = [update('a', 3, { add: [], remove: [claim] }), create('b', '', [claim])];
    const { outcomes, dropped, taken } = planBatch(batch, state({ a: 3 }, 'a'));
    expect(outcomes).to.deep.equal([{ revision: 11 }, { revision: 12 }]);
    expect([dropped, taken]).to.deep.equal([[row], [{ ...row, key: key('b') }]]);
  });

  it('gives a claim to the first of two operations that take it', () => {
    const { outcomes, taken } = planBatch([create('a', '', [claim]), create('b', '', [claim])], state({}));
    expect(outcomes).to.deep.equal([{ revision: 11 }, { conflict: 'unique', holder: key('a'), claim }]);
    expect(taken).to.deep.equal([{ ...row, key: key('a') }]);
  });

  it('writes only operations that have the current generation of their kind, or no generation', () => {
    const batch = [
      { ...create('a', '', [claim]), generation: 3 },
      { ...create('b', '', [claim]), generation: 4 },
      { ...create('c', ''), generation: 0 },
      create('d', ''),
      { ...create('e', ''), kind: 2, generation: 0 },
    ];
    const { outcomes, taken } = planBatch(batch, state({}));
    expect(outcomes.map((outcome) => ('conflict' in outcome ? outcome.conflict : 'written'))).to.deep.equal([
      'generation',
      'written',
      'generation',
      'written',
      'written',
    ]);
    expect(taken).to.deep.equal([{ ...row, key: key('b') }]);
  });

  it('does not change a claim that an operation removes and adds again', () => {
    const again = update('a', 3, { add: [claim], remove: [claim] });
    const { dropped, taken } = planBatch([again], state({ a: 3 }, 'a'));
    expect([dropped, taken]).to.deep.equal([[], []]);
  });

  it('returns the keys to read, grouped by kind, and the claims to read, each once even if two operations add the claim', () => {
    const batch = [
      create('a', '', [claim]),
      update('b', 1, { add: [claim], remove: [] }),
      { ...create('c', ''), kind: 2 },
    ];
    const { keys, claims } = needsOf(batch);
    expect([...keys]).to.deep.equal([
      [1, [key('a'), key('b')]],
      [2, [key('c')]],
    ]);
    expect(claims).to.deep.equal([row]);
  });

  it('reads the generation of unique indexes only for kinds with an operation that names a generation', () => {
    const batch = [
      { ...create('a', ''), generation: 1 },
      { ...create('b', ''), generation: 1 },
      { ...create('c', ''), kind: 2 },
    ];
    expect(needsOf(batch).generations).to.deep.equal([kind]);
  });

  it('refuses a batch that breaks the contract: two operations on a key, no data, no kind, an unknown operation', () => {
    const broken: Operation[][] = [
      [create('a', ''), create('a', '')],
      [{ op: 'update', key: key('a'), kind, expect: 1 }],
      [{ ...create('a', ''), kind: -1 }],
      [{ ...create('a', ''), kind: 1.5 }],
      [{ ...create('a', ''), op: 'upsert' as 'update' }],
    ];
    for (const batch of broken)
      expect(() => needsOf(batch))
        .to.throw()
        .with.property('code', 'refused');
  });
});
