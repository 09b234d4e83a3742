import { expect } from 'chai';
import { eachHarness, Person } from './harness.test-support.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the scheduling of a controller’s runs', () => {
  const harnessFor = eachHarness();

  it('handles changes before the objects that a resync enqueues', async () => {
    const runs: string[] = [];
    let letGo: (() => void) | undefined;
    let isBlocked = false;
    const at = harnessFor({
      concurrency: 1,
      resync: '10h',
      async reconcile({ name }) {
        runs.push(name);
        if (isBlocked) await new Promise<void>((resolve) => (letGo = resolve));
      },
    });
    for (const name of ['ada', 'bob']) await at.person(name);
    await at.start();
    runs.length = 0;
    isBlocked = true;
    await at.change(Person, 'ada', { spec: { name: 'Ada' } });
    await at.holds(() => letGo !== undefined);
    at.client.informer(Person).resync();
    await at.person('eve');
    await at.holds(() => at.manager.queue('person').some(({ key }) => key === 'eve'));
    isBlocked = false;
    letGo?.();
    await at.idle();
    expect(runs).to.deep.equal(['ada', 'eve', 'bob', 'ada']);
  });

  it('yields to the event loop after 64 runs that end immediately', async () => {
    let runs = 0;
    const at = harnessFor({ reconcile: () => void (runs += 1) });
    for (let index = 0; index < 500; index += 1) await at.person(`p${index}`);
    at.startOnly();
    let most = 0;
    for (let before = 0; runs < 500; before = runs) {
      await turn();
      most = Math.max(most, runs - before);
    }
    expect(most).to.equal(64);
  });

  it('reconciles a key again ten seconds after a conflict when the cache does not receive the conflicting change', async () => {
    const times: number[] = [];
    const at = harnessFor({
      async reconcile({ object, client }) {
        times.push(at.clock.monotonicMs());
        await client.update({ ...object, spec: { name: 'from a stale state' } });
      },
    });
    at.client.intercept = async (line) => {
      if (!line.startsWith('update')) return;
      at.client.intercept = () => {};
      at.client.informer(Person).hold();
      await at.change(Person, 'ada', { spec: { name: 'c' } });
    };
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'delayed'));
    await at.clock.advance(9_999);
    expect(times).to.deep.equal([0]);
    await at.clock.advance(1);
    await at.holds(() => times.length === 2);
    expect(times).to.deep.equal([0, 10_000]);
    at.client.informer(Person).release();
    await at.idle();
  });

  it('logs a warning once in each minute while a key runs too often', async () => {
    const at = harnessFor({ hotLoopRunsPerMinute: 10, reconcile: () => ({ after: '1s' }) });
    await at.person('ada');
    await at.start();
    await at.clock.advance(135_000);
    expect(at.lines('warn')).to.have.length(3);
  });

  it('logs no warning for a key whose many runs are spread over several minutes', async () => {
    let runs = 0;
    const at = harnessFor({
      hotLoopRunsPerMinute: 10,
      reconcile() {
        runs += 1;
        return { after: '7s' };
      },
    });
    await at.person('ada');
    await at.start();
    await at.clock.advance(1_200_000);
    expect(runs).to.be.above(100);
    expect(at.lines('warn')).to.deep.equal([]);
  });

  it('ignores the error of a run that was abandoned when the manager stopped', async () => {
    let fail = (_: Error): void => {};
    const at = harnessFor({
      reconcile: () => new Promise<void>((_, reject) => (fail = reject)),
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'processing'));
    at.beginStop();
    await at.clock.advance(30_000);
    await at.stop();
    fail(new Error('too late'));
    await at.holds(() => at.manager.queue('person').length === 0);
    expect(at.lines('error')).to.deep.equal([]);
  });
});
