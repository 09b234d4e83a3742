import { expect } from 'chai';
import { created, event, history, lost, operation, state, updated, watch } from './hand-made.fixture.ts';
import type { Frame, History } from './history.ts';
import { checkWatchGuarantees } from './watch-guarantees.ts';

const v1 = state(1);
const v2 = state(2, { version: 2 });
const v3 = state(3, { version: 3 });
const last = { ...v3, revision: 4 };

const deletion = operation([7, 8], { verb: 'delete', expect: {} }, { kind: 'deleted', uid: 'u1' });
const operations = [created(1, 2), updated(3, 4, v2), updated(5, 6, v3), deletion];

const added = event('ADDED', v1, 11);
const second = event('MODIFIED', v2, 12);
const third = event('MODIFIED', v3, 13);
const deleted = event('DELETED', last, 14);

function bookmark(revision: number, at: number): Frame {
  return { type: 'BOOKMARK', revision, at };
}

/** Returns a history with one watcher that received the given frames on one connection. */
function told(...frames: readonly Frame[]): History {
  return history({ operations, watches: [watch([{ after: 0, frames }])] });
}

/** Returns the broken guarantees of a history, each once. */
function broken(subject: History): string[] {
  return [...new Set(checkWatchGuarantees(subject).map(({ guarantee }) => guarantee))];
}

describe('the guarantees of a watch', () => {
  it('are met for a watcher that received all events and bookmarks over two connections', () => {
    const streams = [
      { after: 0, frames: [added, second, bookmark(2, 12)] },
      { after: 2, frames: [third, deleted, bookmark(9, 15)] },
    ];
    expect(broken(history({ operations, watches: [watch(streams)] }))).to.deep.equal([]);
    expect(broken(told(added, second, third, deleted))).to.deep.equal([]);
  });

  it('are met for a watcher that got 410 and listed again', () => {
    const watches = [
      watch([{ after: 0, frames: [added] }], { end: 'expired' }),
      watch([{ after: 3, frames: [deleted] }], { after: 3, since: 6 }),
    ];
    expect(broken(history({ operations, watches }))).to.deep.equal([]);
  });

  it('are met when a watcher receives no changes of an object that it does not watch', () => {
    expect(broken(history({ operations, watches: [watch([{ after: 0, frames: [] }], { key: 'b' })] }))).to.deep.equal(
      [],
    );
  });

  it('"ordered" is broken when a later change comes before an earlier one', () => {
    expect(broken(told(added, third, second, deleted))).to.deep.equal(['ordered']);
  });

  it('"unique" is broken when a change comes twice', () => {
    expect(broken(told(added, second, second, third, deleted))).to.deep.equal(['unique']);
  });

  it('"atomic" is broken when two watchers receive different states for one change', () => {
    const unknown = [created(1, 2), lost(3, { verb: 'update', value: 'v2', expect: {} })];
    const half = event('MODIFIED', { ...v2, version: 1 }, 12);
    const watches = [watch([{ after: 0, frames: [added, second] }]), watch([{ after: 0, frames: [added, half] }])];
    expect(broken(history({ operations: unknown, watches }))).to.deep.equal(['atomic']);
  });

  it('"resumable" is broken when a watcher misses the first change after its reconnection, and another watcher receives this change', () => {
    const unknown = [created(1, 2), lost(3, { verb: 'update', value: 'v2', expect: {} }), updated(5, 6, v3)];
    const broke = [
      { after: 0, frames: [added] },
      { after: 1, frames: [third] },
    ];
    const watches = [watch([{ after: 0, frames: [added, second, third] }]), watch(broke)];
    expect(broken(history({ operations: unknown, watches }))).to.deep.equal(['resumable']);
  });

  it('"resumable" is broken when a connection that resumes after a revision receives a change of this revision or before', () => {
    const watches = [watch([{ after: 2, frames: [second, third, deleted] }], { after: 2, since: 4 })];
    expect(broken(history({ operations, watches }))).to.deep.equal(['resumable']);
  });

  it('"reliable" is broken when a watcher receives the first and the third change, but misses the second, which another watcher receives', () => {
    const unknown = [created(1, 2), lost(3, { verb: 'update', value: 'v2', expect: {} }), updated(5, 6, v3)];
    const watches = [
      watch([{ after: 0, frames: [added, second, third] }]),
      watch([{ after: 0, frames: [added, third] }]),
    ];
    expect(broken(history({ operations: unknown, watches }))).to.deep.equal(['reliable']);
  });

  it('"bookmarkable" is broken when a bookmark comes before a change that it covers', () => {
    expect(broken(told(added, bookmark(2, 12), second, third, deleted))).to.deep.equal(['bookmarkable']);
  });

  it('"no event from the future" is broken when an event comes before the request that causes it', () => {
    const early = event('MODIFIED', v2, 2);
    expect(broken(told(added, early, third, deleted))).to.deep.equal(['no event from the future']);
  });

  it('"every event is a write" is broken by an event of a write that no client sent or that the server refused', () => {
    const invented = event('MODIFIED', state(5, { value: 'x' }), 15);
    expect(broken(told(added, second, third, deleted, invented))).to.deep.equal(['every event is a write']);
    const refused = operation([9, 10], { verb: 'create', value: 'x' }, { kind: 'exists' });
    const watches = [watch([{ after: 0, frames: [added, event('ADDED', state(5, { value: 'x' }), 15)] }])];
    const subject = history({ operations: [created(1, 2), refused], watches });
    expect(broken(subject)).to.deep.equal(['every event is a write']);
  });

  it('"every event is a write" is broken by an event with a wrong type or revision, or by a deletion that no client sent', () => {
    const as = (...frames: readonly Frame[]): string[] =>
      broken(history({ operations: [created(1, 2)], watches: [watch([{ after: 0, frames }])] }));
    expect(as(event('MODIFIED', v1, 11))).to.deep.equal(['every event is a write']);
    expect(as(added, event('ADDED', { ...v1, revision: 2 }, 12))).to.deep.equal(['every event is a write']);
    expect(as(added, event('DELETED', { ...v1, revision: 2 }, 12))).to.deep.equal(['every event is a write']);
  });

  it('"every write is an event" is broken when the events of the last writes are missing', () => {
    expect(broken(told(added, second, third))).to.deep.equal(['every write is an event']);
    const untold = history({
      operations: operations.slice(0, 3),
      watches: [watch([{ after: 0, frames: [added, second] }])],
    });
    expect(broken(untold)).to.deep.equal(['every write is an event']);
  });
});
