import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { oneStepPerTurn } from '../turns/one-step-per-turn.test-support.ts';
import { WorkLoop } from './work-loop.ts';

const many = { atOnce: 100 };
const names = { idOf: (name: string): string => name };
const quiet = { ...names, onFailure: (): void => undefined };

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

describe('WorkLoop', () => {
  oneStepPerTurn();

  it('handles an item only once if it is added again before it is handled, and handles at most `atOnce` items at a time', async () => {
    const handled: string[] = [];
    let [running, most] = [0, 0];
    const queue = new WorkLoop(
      {
        ...quiet,
        clock: new FakeClock(),
        handle: async (key) => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          handled.push(key);
        },
      },
      many,
    );
    const keys = Array.from({ length: 1000 }, (_, at) => `n${at}`);
    for (const key of [...keys, ...keys]) queue.add(key);
    await eventually(() => queue.isIdle());
    expect(handled.toSorted()).to.deep.equal(keys.toSorted());
    expect(most).to.equal(100);
  });

  it('handles many items at a time, also items that are added while other items are handled', async () => {
    const running = new Set<string>();
    const { open, opened } = gate();
    const queue = new WorkLoop(
      {
        ...quiet,
        clock: new FakeClock(),
        handle: async (key) => {
          running.add(key);
          if (key === 'first') for (let at = 0; at < 20; at += 1) queue.add(`n${at}`);
          await opened;
        },
      },
      many,
    );
    queue.add('first');
    await eventually(() => running.size === 21);
    open();
    await eventually(() => queue.isIdle());
  });

  it('yields to the event loop while many items are waiting', async () => {
    let turns = 0;
    const queue = new WorkLoop(
      {
        ...quiet,
        clock: new FakeClock(),
        handle: async () => undefined,
      },
      many,
    );
    // One turn of the event loop handles 100 items, so 2,000 items take 20 turns.
    for (let at = 0; at < 2000; at += 1) queue.add(`n${at}`);
    while (!queue.isIdle()) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
    expect(turns).to.be.at.least(20);
  });

  it('retries a failed item, and doubles the delay each time', async () => {
    const clock = new FakeClock();
    const attempts: number[] = [];
    const failures: unknown[] = [];
    const queue = new WorkLoop({
      ...names,
      clock,
      handle: async () => {
        attempts.push(clock.monotonicMs());
        if (attempts.length < 4) throw new Error('away');
      },
      onFailure: (_name, error) => failures.push(error),
    });
    queue.add('a');
    for (const ms of [1000, 2000, 4000]) {
      await eventually(() => clock.pendingTimers === 1);
      expect(queue.isIdle()).to.equal(false);
      await clock.advance(ms);
    }
    await eventually(() => queue.isIdle());
    expect(attempts).to.deep.equal([0, 1000, 3000, 7000]);
    expect(failures).to.have.length(3);
  });

  it('waits longer after each failure of an item, even if other items succeed between the failures', async () => {
    const clock = new FakeClock();
    const attempts: number[] = [];
    const queue = new WorkLoop({
      ...quiet,
      clock,
      handle: async (name) => {
        if (name === 'good') return;
        attempts.push(clock.monotonicMs());
        queue.add('good');
        await new Promise((resolve) => setImmediate(resolve));
        if (attempts.length < 4) throw new Error('away');
      },
    });
    queue.add('bad');
    for (const ms of [1000, 2000, 4000]) {
      await eventually(() => clock.pendingTimers === 1);
      await clock.advance(ms);
    }
    await eventually(() => queue.isIdle());
    expect(attempts).to.deep.equal([0, 1000, 3000, 7000]);
  });

  it('retries an item one second after its first failure, even while another item fails again and again', async () => {
    const clock = new FakeClock();
    const attempts: number[] = [];
    const tried = new Set<string>();
    const doneAt = new Map<string, number>();
    const queue = new WorkLoop({
      ...quiet,
      clock,
      handle: async (name) => {
        if (name === 'bad') attempts.push(clock.monotonicMs());
        const isFirst = tried.size < tried.add(name).size;
        if (name === 'bad' || (name.startsWith('once') && isFirst)) throw new Error('away');
        doneAt.set(name, clock.monotonicMs());
      },
    });
    queue.add('bad');
    await clock.advance(40_000);
    expect(attempts).to.deep.equal([0, 1000, 3000, 7000, 15_000, 31_000]);
    for (let at = 0; at < 100; at += 1) for (const name of ['good', 'once']) queue.add(`${name}${at}`);
    await eventually(() => doneAt.size === 100);
    await clock.advance(1000);
    await eventually(() => doneAt.size === 200);
    for (const [name, atMs] of doneAt) expect(atMs, name).to.equal(name.startsWith('good') ? 40_000 : 41_000);
    await queue.stop();
    expect(clock.pendingTimers).to.equal(0);
  });

  it('runs an item again when it is added during its run, and never twice at the same time', async () => {
    const { open, opened } = gate();
    let [running, most, runs] = [0, 0, 0];
    const queue = new WorkLoop(
      {
        ...quiet,
        clock: new FakeClock(),
        handle: async () => {
          runs += 1;
          most = Math.max(most, (running += 1));
          await opened;
          running -= 1;
        },
      },
      many,
    );
    queue.add('a');
    queue.add('a');
    await eventually(() => running === 1);
    queue.add('a');
    queue.add('a');
    open();
    await eventually(() => queue.isIdle());
    expect([runs, most]).to.deep.equal([2, 1]);
  });

  it('finishes the running items when it is stopped, and starts no other items', async () => {
    const begun: string[] = [];
    const { open, opened } = gate();
    const queue = new WorkLoop(
      {
        ...quiet,
        clock: new FakeClock(),
        handle: async (key) => {
          begun.push(key);
          await opened;
        },
      },
      many,
    );
    for (let at = 0; at < 150; at += 1) queue.add(`n${at}`);
    await eventually(() => begun.length === 100);
    const stopped = queue.stop();
    queue.add('late');
    open();
    await stopped;
    expect(begun).to.have.length(100);
  });
});
