import { silentLogger } from '@homeostat/controller-runtime/api';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { ProcessGroup, type MemberEvents } from './process-group.ts';
import { ServingProcess } from './serving-process.ts';
import type { ToServing } from './process-messages.ts';

/** A process that the test controls. */
interface FakeProcess extends MemberEvents {
  readonly number: number;
  readonly received: ToServing[];
  isKilled: boolean;
}

describe('a group of processes', () => {
  let clock: FakeClock;
  let forks: FakeProcess[];
  let group: ProcessGroup;
  let stop: AbortController;
  let code: number | undefined;

  const begin = (count: number): void => {
    group = new ProcessGroup({
      count,
      clock,
      logger: silentLogger,
      fork: (number, events) => {
        const fake: FakeProcess = { ...events, number, received: [], isKilled: false };
        forks.push(fake);
        return { send: (message) => fake.received.push(message), kill: () => void (fake.isKilled = true) };
      },
    });
    void group.run(stop.signal).then((result) => (code = result));
  };
  const numbers = (): readonly number[] => forks.map(({ number }) => number);

  beforeEach(() => {
    clock = new FakeClock();
    forks = [];
    stop = new AbortController();
    code = undefined;
  });
  afterEach(() => expect(clock.pendingTimers).to.equal(0));

  it('starts one process, and the other processes once the first one listens', () => {
    begin(3);
    expect(numbers()).to.deep.equal([1]);
    forks[0]?.onListening();
    forks[1]?.onListening();
    expect(numbers()).to.deep.equal([1, 2, 3]);
  });

  it('ends with the exit code of its first process when the first process cannot start', async () => {
    begin(3);
    forks[0]?.onExit(2, null);
    await clock.advance(60_000);
    expect([numbers(), code]).to.deep.equal([[1], 2]);
  });

  it('replaces a process that has ended: the delay grows each time, and is short again if the process lived for a minute', async () => {
    begin(2);
    forks[0]?.onListening();
    const times: number[] = [];
    for (let deaths = 0; deaths < 7; deaths += 1) {
      const diedMs = clock.monotonicMs();
      const known = forks.length;
      forks.at(-1)?.onExit(null, 'SIGKILL');
      await clock.runUntil(() => forks.length > known);
      times.push(clock.monotonicMs() - diedMs);
    }
    expect(times).to.deep.equal([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    await clock.advance(60_000);
    forks.at(-1)?.onExit(1, null);
    const known = forks.length;
    await clock.advance(1000);
    expect(forks.length).to.equal(known + 1);
    expect(forks.at(-1)?.number).to.equal(2);
  });

  it('asks each process to stop, starts no new process, and ends when the last process has ended', async () => {
    begin(3);
    forks[0]?.onListening();
    forks[2]?.onExit(1, null);
    stop.abort();
    expect(forks.map(({ received }) => received)).to.deep.equal([[{ type: 'stop' }], [{ type: 'stop' }], []]);
    // A process that did not listen yet may have missed the message, so the group sends it again.
    forks[1]?.onListening();
    expect(forks[1]?.received).to.have.lengthOf(2);
    forks[0]?.onExit(0, null);
    await clock.advance(60_000);
    expect([forks.length, code]).to.deep.equal([3, undefined]);
    forks[1]?.onExit(0, null);
    await clock.advance(0);
    expect(code).to.equal(0);
  });

  it('ends with exit code 1 when a process reports a failure that every process would have', async () => {
    begin(2);
    forks[0]?.onListening();
    forks[1]?.onMessage({ type: 'fail' });
    for (const each of forks) each.onExit(0, null);
    await clock.advance(0);
    expect(code).to.equal(1);
  });

  it('kills all its processes immediately, also those that do not listen yet', () => {
    begin(2);
    forks[0]?.onListening();
    group.kill();
    expect(forks.every(({ isKilled }) => isKilled)).to.equal(true);
  });

  it('gathers the metrics of all processes, without those of a process that is late or has ended', async () => {
    begin(4);
    forks[0]?.onListening();
    const asking = new ServingProcess({ number: 1, clock, send: (message) => forks[0]?.onMessage(message) });
    const answers = [asking.gather('a 1\n'), asking.gather('a 1\n')];
    const measure = forks[1]?.received.at(-1);
    expect(measure?.type).to.equal('measure');
    const id = measure?.type === 'measure' ? measure.id : 0;
    forks[1]?.onMessage({ type: 'metrics', id, text: 'a 2\n' });
    forks[2]?.onExit(1, null);
    await clock.advance(2000);
    for (const message of forks[0]?.received ?? []) asking.onMessage(message);
    const merged = 'a{process="1"} 1\na{process="2"} 2\n';
    expect(await Promise.all(answers)).to.deep.equal([merged, merged]);
  });
});
