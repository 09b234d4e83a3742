import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { PeriodicTask } from './periodic-task.ts';

describe('PeriodicTask', () => {
  it('runs one interval after the start, and one interval after the end of each run', async () => {
    const clock = new FakeClock();
    const runs: (() => void)[] = [];
    const task = new PeriodicTask({ clock, intervalMs: 100, run: () => new Promise((resolve) => runs.push(resolve)) });
    task.start();
    await clock.advance(99);
    expect(runs).to.have.lengthOf(0);
    await clock.advance(1);
    expect(runs).to.have.lengthOf(1);
    await clock.advance(1000);
    expect(runs, 'one run at a time').to.have.lengthOf(1);
    runs[0]?.();
    await clock.advance(100);
    expect(runs).to.have.lengthOf(2);
    runs[1]?.();
    await task.stop();
  });

  it('starts no run after stop, and stop waits for the current run', async () => {
    const clock = new FakeClock();
    let end = (): void => undefined;
    const task = new PeriodicTask({ clock, intervalMs: 100, run: () => new Promise((resolve) => (end = resolve)) });
    task.start();
    await clock.advance(100);
    let isStopped = false;
    const stopped = task.stop().then(() => (isStopped = true));
    await clock.advance(100);
    expect(isStopped).to.equal(false);
    end();
    await stopped;
    task.start();
    expect(clock.pendingTimers).to.equal(0);
  });
});
