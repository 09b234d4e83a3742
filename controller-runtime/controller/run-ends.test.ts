import { expect } from 'chai';
import { ApiError } from '../api/index.ts';
import { Badge, eachHarness, type Harness, Person } from './harness.test-support.ts';
import type { ReconcileResult } from './definition/reconciler.ts';

describe('Controller, at the end of a run:', () => {
  const harnessFor = eachHarness();

  const valueOf = (at: Harness, metric: string): number => {
    const line = at.manager
      .metrics()
      .split('\n')
      .find((each) => each.startsWith(`${metric} `));
    return Number(line?.split(' ')[1]);
  };

  it('a requeue or a conflict does not count towards the retry limit of the key', async () => {
    const ends: (() => ReconcileResult)[] = [
      ...Array.from({ length: 3 }, () => () => ({ requeue: true })),
      ...Array.from({ length: 3 }, () => () => {
        throw new ApiError('Conflict', 'made up');
      }),
      () => {
        throw new Error('once');
      },
    ];
    let runs = 0;
    const at = harnessFor({
      retryLimit: 1,
      reconcile() {
        runs += 1;
        return ends.shift()?.();
      },
    });
    await at.person('ada');
    await at.start();
    await at.clock.advance(100_000);
    expect(runs).to.equal(8);
    expect(at.manager.queue('person')).to.deep.equal([]);
  });

  it('a run that ends with a conflict is repeated with the same priority', async () => {
    const priorities: (number | undefined)[] = [];
    const at = harnessFor({
      async reconcile({ object, client }) {
        priorities.push(at.manager.stateOf('person', 'ada')?.priority);
        if (priorities.length === 1) await client.update({ ...object, spec: { name: 'stale' } });
      },
    });
    at.client.intercept = async (line) => {
      if (!line.startsWith('update')) return;
      at.client.intercept = () => {};
      at.client.informer(Person).hold();
      // This change makes the update conflict. A change of only ownerReferences causes no run, so the second run can
      // only be the one after the conflict.
      const reference = { apiVersion: 'v1', kind: 'Other', name: 'x', uid: 'y' };
      await at.change(Person, 'ada', { metadata: { ownerReferences: [reference] } });
    };
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.stateOf('person', 'ada')?.state === 'delayed');
    at.client.informer(Person).release();
    await at.idle();
    expect(priorities).to.deep.equal([-100, -100]);
  });

  it('a run that exceeds its timeout is counted and logged at once; the health check fails when such runs occupy all workers', async () => {
    const letGo: (() => void)[] = [];
    const at = harnessFor({
      timeoutMs: '30s',
      concurrency: 2,
      reconcile: () => new Promise<undefined>((resolve) => letGo.push(() => resolve(undefined))),
    });
    for (const name of ['ada', 'bob', 'eve']) await at.person(name);
    at.startOnly();
    await at.holds(() => letGo.length === 2);
    await at.clock.advance(29_999);
    expect(at.lines('error')).to.deep.equal([]);
    expect(at.manager.healthProblem()).to.equal(undefined);
    await at.clock.advance(1);
    expect(valueOf(at, 'controller_runtime_reconcile_timeouts_total{controller="person"}')).to.equal(2);
    expect(valueOf(at, 'controller_runtime_reconcile_total{controller="person",result="error"}')).to.equal(2);
    expect(at.lines('error').map(({ fields }) => fields['key'])).to.include.members(['ada', 'bob']);
    expect(at.manager.healthProblem()).to.equal(
      'controller "person": all workers (2) are occupied by runs that have exceeded their timeout and have not ended: ada, bob',
    );
    letGo.shift()?.();
    await at.holds(() => letGo.length === 2);
    expect(at.manager.healthProblem()).to.equal(undefined);
    expect(valueOf(at, 'controller_runtime_reconcile_errors_total{controller="person"}')).to.equal(2);
    for (const end of letGo) end();
    at.beginStop();
    await at.holds(() => at.clock.pendingTimers === 0);
  });

  it('a write without an await is refused after the end of its run, with an error that names the reason', async () => {
    let late: Promise<unknown> = Promise.resolve();
    let letGo = (): void => {};
    const at = harnessFor({
      reconcile({ ensure }) {
        const forgotten = new Promise<void>((resolve) => (letGo = resolve));
        late = forgotten.then(() => ensure(Badge, 'badge', { spec: { text: 'late' } }));
        late.catch(() => undefined);
      },
    });
    await at.person('ada');
    await at.start();
    letGo();
    const error: unknown = await late.catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain(
      'the run of person "ada" has ended, so its client refuses the request: is an await missing?',
    );
    expect(at.client.requests).to.deep.equal([]);
    expect(at.lines('error').map(({ message }) => message)).to.deep.equal([
      'a request was sent after its run had ended',
    ]);
  });

  it('a run ends only after the writes that reconcile did not await, so that they do not overlap the next run', async () => {
    const order: string[] = [];
    let answer = (): void => {};
    const at = harnessFor({
      reconcile({ client }) {
        order.push('run');
        if (order.length === 1) void client.patch(Person, 'ada', { type: 'merge', patch: { spec: { name: 'b' } } });
      },
    });
    at.client.intercept = async (line) => {
      if (!line.startsWith('patch')) return;
      await new Promise<void>((resolve) => (answer = resolve));
      order.push('write');
    };
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.client.requests.length === 1);
    expect(at.manager.stateOf('person', 'ada')?.state).to.equal('processing');
    answer();
    await at.idle();
    expect(order).to.deep.equal(['run', 'write', 'run']);
    expect(at.lines('warn').map(({ message }) => message)).to.deep.equal([
      'a run returned before its writes had ended: is an await missing?',
    ]);
  });

  it('when reconcile did not await a write, the run ends as soon as its timeout aborts the write; then its key runs again', async () => {
    let runs = 0;
    const at = harnessFor({
      timeoutMs: '1s',
      reconcile({ client, signal }) {
        runs += 1;
        if (runs > 1) return;
        at.client.intercept = () =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
        client.patch(Person, 'ada', { type: 'merge', patch: { spec: { name: 'b' } } }).catch(() => undefined);
      },
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.lines('warn').length === 1);
    expect(at.manager.stateOf('person', 'ada')?.state).to.equal('processing');
    await at.clock.advance(2000);
    expect(runs).to.equal(2);
    expect(at.manager.stateOf('person', 'ada')).to.equal(undefined);
  });

  it('when one promise of a Promise.all makes reconcile throw, later requests of the others are refused, and no error about a missing await is logged', async () => {
    let letGo = (): void => {};
    let rest: Promise<unknown> = Promise.resolve();
    const at = harnessFor({
      async reconcile({ client }) {
        rest = new Promise<void>((resolve) => (letGo = resolve)).then(() => client.get(Person, 'ada'));
        await Promise.all([rest, Promise.reject(new Error('the other'))]);
      },
    });
    await at.person('ada');
    await at.start();
    letGo();
    await rest.catch(() => undefined);
    expect(at.lines('error').map(({ fields }) => String(fields['err']))).to.deep.equal(['Error: the other']);
    expect(at.client.requests).to.deep.equal([]);
  });

  it('a run that has exceeded its timeout sends no further requests', async () => {
    const errors: string[] = [];
    const at = harnessFor({
      timeoutMs: '1s',
      async reconcile({ client, signal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await client.get(Person, 'ada').catch((error: unknown) => errors.push(String(error)));
      },
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.queue('person')[0]?.state === 'processing');
    await at.clock.advance(1000);
    expect(errors).to.deep.equal(['Error: the run outlasted its timeout of 1000 ms']);
    expect(at.client.requests).to.deep.equal([]);
    at.beginStop();
    await at.clock.advance(1000);
  });
});
