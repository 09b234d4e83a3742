import { expect } from 'chai';
import { settle } from './settle.ts';
import { testPatienceMs } from './test-patience.ts';

const rejectionOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'resolved',
    (error: unknown) => (error as Error).message,
  );

describe('settle', () => {
  it('waits until all participants are idle at the same time', async () => {
    let work = 30;
    const first = { name: 'first', isIdle: () => (work -= 1) < 20 };
    const second = { name: 'second', isIdle: () => work < 5 };
    await settle([first, second]);
    expect(work).to.be.below(5);
  });

  it('waits for ten idle turns again each time a participant becomes busy', async () => {
    const busyAt = new Set([3, 7, 12]);
    let turn = 0;
    await settle([{ name: 'flickering', isIdle: () => !busyAt.has((turn += 1)) }]);
    expect(turn).to.be.at.least(12 + 10);
  });

  it('calls hasCaughtUp only when all participants are idle, and repeatedly until it returns true', async () => {
    let asked = 0;
    let idle = 0;
    const informer = {
      name: 'informer',
      isIdle: () => (idle += 1) > 0,
      hasCaughtUp: async () => (asked += 1) === 3,
    };
    await settle([informer]);
    expect(asked).to.equal(3);
    expect(idle).to.be.at.least(30);
  });

  it('names the participants that are still busy when it gives up', async () => {
    const participants = [
      { name: 'queue persons', isIdle: () => false },
      { name: 'queue teams', isIdle: () => true },
    ];
    expect(await rejectionOf(settle(participants, { timeoutMs: 20 / testPatienceMs(1) }))).to.equal(
      'not settled within 20 ms; still busy: queue persons',
    );
  });

  it('names the participants that have not caught up when it gives up', async () => {
    const lagging = { name: 'informer persons', isIdle: () => true, hasCaughtUp: async () => false };
    expect(await rejectionOf(settle([lagging], { timeoutMs: 20 / testPatienceMs(1) }))).to.match(
      /still busy: informer persons$/,
    );
  });

  it('names a participant that has not caught up, even if the time-out ends before the first call of hasCaughtUp', async () => {
    const lagging = { name: 'informer persons', isIdle: () => true, hasCaughtUp: async () => false };
    expect(await rejectionOf(settle([lagging], { timeoutMs: 0 }))).to.equal(
      'not settled within 0 ms; still busy: informer persons',
    );
  });
});
