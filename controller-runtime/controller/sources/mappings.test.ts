import { expect } from 'chai';
import { ApiError } from '../../api/index.ts';
import { controller, type ControllerOptions } from '../definition/controller-definition.ts';
import { on, type MapFunction } from '../definition/followed-kind.ts';
import { Harness, Person, Team, type Badge } from '../harness.test-support.ts';

type Mapping = MapFunction<Badge>;

describe('mappings of watched kinds', () => {
  let harness: Harness | undefined;
  const runs: string[] = [];

  const harnessFor = (map: Mapping, options: Partial<ControllerOptions<Person>> = {}): Harness => {
    const reconcile = ({ name }: { readonly name: string }): void => void runs.push(name);
    harness = new Harness({ controllers: [controller(Person, { reconcile, watches: [on(Team, map)], ...options })] });
    return harness;
  };

  const team = (at: Harness, name: string, text = ''): Promise<Badge> =>
    at.client.create<Badge>(Team, { metadata: { name }, spec: { text } });

  const valueOf = (at: Harness, metric: string): number => {
    const line = at.manager
      .metrics()
      .split('\n')
      .find((each) => each.startsWith(`${metric}{name="person-mappings",controller="person"}`));
    return Number(line?.split(' ')[1]);
  };

  beforeEach(() => {
    runs.length = 0;
  });

  afterEach(async () => {
    await harness?.stop();
    expect(harness?.clock.pendingTimers ?? 0).to.equal(0);
    harness = undefined;
  });

  it('an error loses no event: the mapping is called again after the back-off of the controller', async () => {
    const times: number[] = [];
    const at = harnessFor(
      ({ spec }) => {
        times.push(at.clock.monotonicMs());
        if (times.length < 4) throw new ApiError('ServiceUnavailable', 'in a moment');
        return [spec.text];
      },
      { backoff: { baseMs: 10 } },
    );
    await at.start();
    await team(at, 'red', 'ada');
    await at.idle();
    expect(runs).to.deep.equal([]);
    await at.clock.advance(1000);
    expect(times).to.deep.equal([0, 10, 30, 70]);
    expect(at.lines('error').map(({ fields }) => fields['attempt'])).to.deep.equal([1, 2, 3]);
    expect(at.lines('error')[0]?.fields).to.deep.include({ controller: 'person', from: { kind: 'Team', key: 'red' } });
    expect(valueOf(at, 'workqueue_retries_total')).to.equal(3);
    expect(valueOf(at, 'workqueue_work_duration_seconds_count')).to.equal(4);
  });

  it('a mapping is called for every state that an object had while the mapping failed, and the keys for each state are enqueued', async () => {
    let isDown = true;
    const at = harnessFor(
      async ({ spec }) => {
        if (isDown) throw new Error('down');
        return [spec.text];
      },
      { reconcile: { reconcile: ({ name }) => void runs.push(name) } },
    );
    await at.start();
    await team(at, 'red', 'ada');
    await at.idle();
    for (const text of ['bob', 'eve']) {
      await at.change(Team, 'red', { spec: { text } });
      await at.idle();
    }
    isDown = false;
    await at.clock.advance(1000);
    expect(runs.toSorted()).to.deep.equal(['ada', 'bob', 'eve']);
  });

  it('a key is enqueued only once when the mapping returns the key for both states of an update', async () => {
    const priorities: string[] = [];
    let calls = 0;
    const at = harnessFor(
      async () => {
        calls += 1;
        // During this wait, the run for the key of the former state ends. If the key were then enqueued a second time,
        // a second run would follow.
        if (calls > 1) await at.holds(() => true);
        return ['ada'];
      },
      { reconcile: { reconcile: ({ name }) => void priorities.push(name) } },
    );
    await at.start();
    await team(at, 'red', 'a');
    await at.idle();
    calls = 0;
    priorities.length = 0;
    await at.change(Team, 'red', { spec: { text: 'b' } });
    await at.idle();
    expect({ calls, runs: priorities }).to.deep.equal({ calls: 2, runs: ['ada'] });
  });

  it('the keys that a mapping returns for the former state of an object are enqueued even if the mapping hangs for the new state', async () => {
    const letGo: (() => void)[] = [];
    const at = harnessFor(
      ({ spec: { text } }) => (text === 'ada' ? ['ada'] : new Promise((resolve) => letGo.push(() => resolve([])))),
      { reconcile: { reconcile: ({ name }) => void runs.push(name) } },
    );
    await at.start();
    await team(at, 'red', 'ada');
    await at.idle();
    runs.length = 0;
    await at.change(Team, 'red', { spec: { text: 'bob' } });
    await at.holds(() => letGo.length === 1);
    expect(runs).to.deep.equal(['ada']);
    letGo.shift()?.();
    await at.idle();
  });

  it('if a mapping hangs for one state of an object, it times out, and the retry maps the other states of the object first', async () => {
    let isHung = false;
    const calls: string[] = [];
    const at = harnessFor(
      async ({ spec: { text } }) => {
        calls.push(text);
        return text === 'ada' && isHung ? new Promise<never>(() => {}) : [text];
      },
      { timeoutMs: '10s', backoff: { baseMs: 100 }, reconcile: { reconcile: ({ name }) => void runs.push(name) } },
    );
    await at.start();
    await team(at, 'red', 'ada');
    await at.idle();
    isHung = true;
    calls.length = 0;
    runs.length = 0;
    await at.change(Team, 'red', { spec: { text: 'bob' } });
    await at.holds(() => calls.length === 1);
    await at.clock.advance(10_050);
    expect(calls).to.deep.equal(['ada']);
    await at.clock.advance(100);
    expect({ calls, runs }).to.deep.equal({ calls: ['ada', 'bob', 'ada'], runs: ['bob'] });
    isHung = false;
    await at.clock.advance(11_000);
    expect({ calls, runs }).to.deep.equal({ calls: ['ada', 'bob', 'ada', 'ada'], runs: ['bob', 'ada'] });
  });

  it('when an object has had more than eight states while a mapping failed, the mapping is called again for the first state and the last seven', async () => {
    let isDown = true;
    const at = harnessFor(
      ({ spec }) => {
        if (isDown) throw new Error('down');
        return [spec.text];
      },
      { reconcile: { reconcile: ({ name }) => void runs.push(name) } },
    );
    await at.start();
    await team(at, 'red', 's0');
    await at.idle();
    for (let index = 1; index < 12; index += 1) await at.change(Team, 'red', { spec: { text: `s${index}` } });
    await at.idle();
    isDown = false;
    await at.clock.advance(1000);
    expect(runs.toSorted()).to.deep.equal(['s0', 's10', 's11', 's5', 's6', 's7', 's8', 's9']);
  });

  it('as many mappings run at the same time as the concurrency of the controller allows; the others wait in a queue with metrics', async () => {
    const waiting: (() => void)[] = [];
    const map: Mapping = async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return [];
    };
    const at = harnessFor(map, { concurrency: 3 });
    await at.start();
    for (let index = 0; index < 10; index += 1) await team(at, `t${index}`);
    await at.holds(() => waiting.length === 3);
    expect(valueOf(at, 'workqueue_depth')).to.equal(7);
    await at.clock.advance(4000);
    expect(valueOf(at, 'workqueue_longest_running_processor_seconds')).to.equal(4);
    expect(at.manager.isIdle()).to.equal(false);
    for (let done = 0; done < 10; done += 1) {
      await at.holds(() => waiting.length > 0);
      waiting.shift()?.();
    }
    await at.idle();
    expect(valueOf(at, 'workqueue_adds_total')).to.equal(10);
  });

  it('a mapping that never returns does not delay the start or the readiness of the controller', async () => {
    const at = harnessFor(() => new Promise(() => {}));
    await at.person('ada');
    await team(at, 'red');
    at.startOnly();
    await at.holds(() => runs.length === 1);
    expect(at.manager.readinessProblem()).to.equal(undefined);
    await team(at, 'blue');
    await at.holds(() => at.manager.readinessProblem() === undefined);
    at.beginStop();
    await at.holds(() => at.clock.pendingTimers > 0);
    await at.clock.advance(30_000);
  });

  it('the signal of a mapping aborts at the timeout, and the mapping is called again while the earlier call still runs', async () => {
    const signals: AbortSignal[] = [];
    const at = harnessFor(
      (_team, { signal }) => {
        signals.push(signal);
        return signals.length === 1 ? new Promise(() => {}) : Promise.resolve(['ada']);
      },
      { timeoutMs: '10s', concurrency: 1 },
    );
    await at.person('ada');
    await at.start();
    runs.length = 0;
    await team(at, 'red');
    await at.holds(() => signals.length === 1);
    await at.clock.advance(9_999);
    expect(signals[0]?.aborted).to.equal(false);
    await at.clock.advance(100);
    expect(signals[0]?.aborted).to.equal(true);
    expect(runs).to.deep.equal(['ada']);
    expect(String(at.lines('error')[0]?.fields['err'])).to.contain('outlasted its timeout of 10000 ms');
  });

  it('mappings under way are aborted when the controller stops', async () => {
    let hasBegun = false;
    let reason: unknown;
    const at = harnessFor(
      (_team, { signal }) =>
        new Promise((_, reject) => {
          hasBegun = true;
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            reject(new Error('told to'));
          });
        }),
    );
    await team(at, 'red');
    at.startOnly();
    await at.holds(() => hasBegun);
    await at.stop();
    expect(String(reason)).to.contain('the controller has stopped');
    expect(at.lines('error')).to.deep.equal([]);
  });

  it('context.client refuses requests after the mapping has returned, even if the property is first read after that', async () => {
    const late: Promise<unknown>[] = [];
    const letGo: (() => void)[] = [];
    const at = harnessFor((_team, context) => {
      const client = letGo.length === 0 ? context.client : undefined;
      const ended = new Promise<void>((resolve) => letGo.push(resolve));
      const asked = ended.then(() => client ?? context.client);
      late.push(asked.then((each) => each.get(Person, 'ada')).catch((error: unknown) => String(error)));
      return [];
    });
    await at.person('ada');
    for (const name of ['red', 'blue']) await team(at, name);
    await at.start();
    for (const each of letGo) each();
    const errors = (await Promise.all(late)) as readonly string[];
    expect(errors).to.have.length(2);
    for (const error of errors)
      expect(error).to.contain('the mapping has ended, so its client refuses the request: is an await missing?');
  });

  it('an event whose mapping fails is dropped only when ten thousand other objects already wait for a retry [slow]', async () => {
    const at = harnessFor(() => {
      throw new Error('never');
    });
    await at.start();
    for (let index = 0; index < 10_001; index += 1) await team(at, `t${index}`);
    await at.holds(() => valueOf(at, 'workqueue_retries_total') === 10_000);
    await at.holds(() => at.lines('error').length === 10_001);
    const [last] = at.lines('error').slice(-1);
    expect(last?.message).to.contain('the event is dropped, because too many failed events wait');
    expect(last?.fields['from']).to.deep.equal({ kind: 'Team', key: 't10000' });
  });
});
