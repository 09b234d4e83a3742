import { expect } from 'chai';
import { eventModel } from '../events/event-model.ts';
import { controller, type ControllerOptions } from './definition/controller-definition.ts';
import { Harness, Person } from './harness.test-support.ts';
import { RunHistory } from './observe/run-history.ts';
import { terminal } from './definition/terminal-error.ts';

describe('the metrics and the history of runs', () => {
  let harness: Harness | undefined;

  const harnessFor = (options: ControllerOptions<Person>): Harness => {
    let runs = 0;
    const uuid = (): string => `0000000${(runs += 1)}-0000-4000-8000-000000000000`;
    harness = new Harness({ controllers: [controller(Person, options)], uuid });
    return harness;
  };

  const valueOf = (series: string): number => {
    const line = harness?.manager
      .metrics()
      .split('\n')
      .find((each) => each.startsWith(`${series} `));
    if (line === undefined) throw new Error(`there is no ${series}`);
    return Number(line.slice(series.length));
  };

  const results = (): Record<string, number> =>
    Object.fromEntries(
      ['success', 'requeue_after', 'requeue', 'conflict', 'error'].map((result) => [
        result,
        valueOf(`controller_runtime_reconcile_total{controller="person",result="${result}"}`),
      ]),
    );

  afterEach(async () => {
    await harness?.stop();
    harness = undefined;
  });

  it('the metrics have the series of a controller before its first run; all counts and times are 0', async () => {
    const at = harnessFor({ concurrency: 3, reconcile() {} });
    await at.start();
    expect(results()).to.deep.equal({ success: 0, requeue_after: 0, requeue: 0, conflict: 0, error: 0 });
    for (const name of ['errors_total', 'panics_total', 'timeouts_total', 'time_seconds_count']) {
      expect(valueOf(`controller_runtime_reconcile_${name}{controller="person"}`), name).to.equal(0);
    }
    expect(valueOf('controller_runtime_terminal_reconcile_errors_total{controller="person"}')).to.equal(0);
    expect(valueOf('controller_runtime_active_workers{controller="person"}')).to.equal(0);
    expect(valueOf('controller_runtime_max_concurrent_reconciles{controller="person"}')).to.equal(3);
    const queue = ['depth', 'adds_total', 'queue_duration_seconds_count', 'work_duration_seconds_count'];
    for (const name of [...queue, 'unfinished_work_seconds', 'longest_running_processor_seconds', 'retries_total']) {
      expect(valueOf(`workqueue_${name}{name="person",controller="person"}`), name).to.equal(0);
    }
    expect(valueOf('process_resident_memory_bytes')).to.be.above(0);
  });

  it('the metrics count each run by its result, and each error by its kind', async () => {
    const at = harnessFor({
      timeoutMs: '1s',
      async reconcile({ object, signal }) {
        const { name } = object.metadata;
        if (name === 'later') return { after: '1h' };
        if (name === 'again') return { requeueAfter: 0, requeue: true };
        if (name === 'fails') throw new Error('no luck');
        if (name === 'gives-up') throw terminal('never');
        if (name === 'bug') Reflect.get(undefined as unknown as object, 'x');
        if (name === 'slow') await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return undefined;
      },
    });
    for (const name of ['ok', 'later', 'again', 'fails', 'gives-up', 'bug', 'slow']) await at.person(name);
    at.startOnly();
    await at.holds(() => results()['error'] === 3);
    expect(valueOf('controller_runtime_active_workers{controller="person"}')).to.equal(1);
    await at.clock.runUntil(() => valueOf('controller_runtime_reconcile_timeouts_total{controller="person"}') === 1);
    await at.holds(() => valueOf('controller_runtime_active_workers{controller="person"}') === 0);
    expect(results()).to.include({ success: 1, requeue_after: 1 });
    expect(results()['requeue']).to.be.at.least(1);
    expect(valueOf('controller_runtime_terminal_reconcile_errors_total{controller="person"}')).to.equal(1);
    expect(valueOf('controller_runtime_reconcile_panics_total{controller="person"}')).to.be.at.least(1);
    expect(valueOf('controller_runtime_reconcile_errors_total{controller="person"}')).to.equal(results()['error']);
    expect(valueOf('workqueue_retries_total{name="person",controller="person"}')).to.be.at.least(3);
    const ran = Object.values(results()).reduce((sum, count) => sum + count, 0);
    expect(valueOf('controller_runtime_reconcile_time_seconds_count{controller="person"}')).to.equal(ran);
    expect(valueOf('workqueue_work_duration_seconds_count{name="person",controller="person"}')).to.equal(ran);
  });

  it('the metrics measure how long keys wait, and how long the runs under way have taken', async () => {
    let letGo = (): void => {};
    const at = harnessFor({
      concurrency: 1,
      reconcile: () => new Promise<undefined>((resolve) => (letGo = () => resolve(undefined))),
    });
    await at.person('first');
    await at.person('second');
    at.startOnly();
    await at.holds(() => valueOf('workqueue_depth{name="person",controller="person"}') === 1);
    await at.clock.advance(4000);
    const labels = '{name="person",controller="person"}';
    expect(valueOf(`workqueue_unfinished_work_seconds${labels}`)).to.equal(4);
    expect(valueOf(`workqueue_longest_running_processor_seconds${labels}`)).to.equal(4);
    letGo();
    await at.holds(() => valueOf(`workqueue_queue_duration_seconds_count${labels}`) === 2);
    letGo();
    await at.idle();
    expect(valueOf(`workqueue_queue_duration_seconds_sum${labels}`)).to.equal(4);
    expect(valueOf(`workqueue_work_duration_seconds_sum${labels}`)).to.equal(4);
    expect(valueOf(`workqueue_unfinished_work_seconds${labels}`)).to.equal(0);
  });

  it('the history contains the reason, the time, the duration and the result of each run', async () => {
    let fails = true;
    const at = harnessFor({
      reconcile() {
        if (fails) throw new Error('no luck '.repeat(1000));
      },
    });
    await at.person('ann');
    await at.start();
    const startTime = at.clock.now();
    fails = false;
    await at.clock.runUntil(() => at.manager.runs('Person', { key: 'ann' }).length === 2);
    const [second, first] = at.manager.runs('person', { key: 'ann' });
    expect(first).to.deep.include({
      key: 'ann',
      reconcileID: '00000001-0000-4000-8000-000000000000',
      reasons: [{ type: 'event', detail: 'ADDED' }],
      attempts: 0,
      startTime,
      durationMs: 0,
      result: 'error',
    });
    expect(first?.error).to.have.length(1024);
    expect(second).to.deep.include({ reasons: [{ type: 'retry' }], attempts: 1, result: 'success' });
    expect(second?.startTime).to.equal(startTime + 5);
    expect(at.manager.runs('person', { limit: 1 })).to.deep.equal([second]);
    expect(at.manager.runs('person', { limit: 0 })).to.deep.equal([]);
    expect(at.manager.runs('person', { key: 'ann', limit: 1 })).to.deep.equal([second]);
    expect(at.manager.runs('person', { key: 'bob' })).to.deep.equal([]);
    expect(() => at.manager.runs('nobody')).to.throw('there is no controller "nobody"');
  });

  it('the history contains at most ten runs of each key, for the thousand keys with the latest runs', () => {
    const history = new RunHistory();
    const run = { reconcileID: 'x', reasons: [], attempts: 0, durationMs: 0, result: 'success' } as const;
    for (let index = 0; index < 25; index += 1) history.record({ ...run, key: 'often', startTime: index });
    expect(history.of('often').map(({ startTime }) => startTime)).to.deep.equal([
      24, 23, 22, 21, 20, 19, 18, 17, 16, 15,
    ]);
    for (let index = 0; index < 1000; index += 1) history.record({ ...run, key: `key-${index}`, startTime: index });
    expect(history.of('often')).to.deep.equal([]);
    expect(history.last(Infinity)).to.have.length(1000);
    expect(history.last(2).map(({ key }) => key)).to.deep.equal(['key-999', 'key-998']);
  });

  it('the events of a run are written with its reconcileID, also when the controller stops right after the run', async () => {
    const at = harnessFor({
      reconcile({ object, event, recorder }) {
        event('Normal', 'Greeted', `hello ${object.spec.name}`);
        recorder.event(object, 'Warning', 'Alone', 'there is no other person');
      },
    });
    await at.person('ann');
    at.startOnly();
    await at.holds(() => at.manager.runs('Person').length === 1);
    await at.stop();
    const [run] = at.manager.runs('Person');
    const events = ['ann.0000000200004000', 'ann.0000000300004000'].map((name) => at.client.peek(eventModel, name));
    expect(events.map((event) => [event?.reason, event?.message, event?.count])).to.deep.equal([
      ['Greeted', 'hello ann', 1],
      ['Alone', 'there is no other person', 1],
    ]);
    for (const event of events) {
      expect(event?.metadata.annotations).to.deep.equal({ 'controller-runtime/reconcile-id': run?.reconcileID });
      expect(event?.involvedObject).to.include({ kind: 'Person', name: 'ann' });
      expect(event?.source).to.deep.equal({ component: 'person' });
    }
  });
});
