import { expect } from 'chai';
import { created, event, history, key, state, updated, watch } from './hand-made.fixture.ts';
import type { Frame, Listing } from './history.ts';
import { checkListMoments } from './list-moments.ts';
import { checkRevisionOrder } from './revision-order.ts';

const v1 = state(1);

function bookmark(revision: number, at: number): Frame {
  return { type: 'BOOKMARK', revision, at };
}

function listing(revision: number, ...states: readonly (typeof v1)[]): Listing {
  return { client: 'c', keys: [key], states: new Map(states.map((each) => [key, each])), revision, call: 5, return: 6 };
}

describe('the check of the order of revisions over all objects', () => {
  const other = { ...created(3, 4, state(2, { uid: 'u2', value: 'b1' })), key: 'b' };

  it('finds no fault when each write gets a higher revision than all revisions that clients saw before it began', () => {
    expect(
      checkRevisionOrder(history({ operations: [created(1, 2), other], listings: [listing(2, v1)] })),
    ).to.deep.equal([]);
    const concurrent = { ...created(1, 9, state(2)), key: 'b' };
    expect(checkRevisionOrder(history({ operations: [concurrent, created(3, 4)] }))).to.deep.equal([]);
  });

  it('finds a fault when a write begins after the response to a write of another object, but gets a lower revision', () => {
    const violations = checkRevisionOrder(history({ operations: [created(1, 2, state(5)), other] }));
    expect(violations.map(({ guarantee }) => guarantee)).to.deep.equal(['revisions follow time']);
  });

  it('finds a fault when a list has a lower revision than a client saw before the list began', () => {
    expect(
      checkRevisionOrder(history({ operations: [created(1, 2), other], listings: [listing(1, v1)] })),
    ).to.have.length(1);
  });

  it('finds a fault when a write gets the revision of a bookmark that a watch delivered before the write began', () => {
    const watches = [watch([{ after: 0, frames: [bookmark(2, 1)] }])];
    expect(checkRevisionOrder(history({ operations: [other], watches }))).to.have.length(1);
    expect(
      checkRevisionOrder(
        history({ operations: [other], watches: [watch([{ after: 0, frames: [event('ADDED', v1, 1)] }])] }),
      ),
    ).to.deep.equal([]);
  });
});

describe('the check that a list shows the objects at its revision', () => {
  const v2 = state(2, { version: 2 });
  const operations = [created(1, 2), updated(3, 9, v2)];
  const deletion = event('DELETED', { ...v2, revision: 4 }, 20);
  const watches = [watch([{ after: 2, frames: [deletion] }])];

  function faults(list: Listing): number {
    return checkListMoments(history({ operations, watches, listings: [list] })).length;
  }

  it('finds no fault when the list shows the objects that existed at its revision', () => {
    expect([faults(listing(0)), faults(listing(1, v1)), faults(listing(2, v2)), faults(listing(4))]).to.deep.equal([
      0, 0, 0, 0,
    ]);
  });

  it('finds a fault when the list shows an earlier or later state of an object', () => {
    expect(faults(listing(2, v1))).to.equal(1);
    expect(faults(listing(1, v2))).to.equal(1);
  });

  it('finds a fault when the list omits an existing object, or shows a deleted one', () => {
    expect(faults(listing(3))).to.equal(1);
    expect(faults(listing(5, v2))).to.equal(1);
  });
});
