import { expect } from 'chai';
import { ApiError } from '../api/index.ts';
import { controller, type ControllerOptions } from './definition/controller-definition.ts';
import { on } from './definition/followed-kind.ts';
import { controllerFor } from './definition/controller-builder.ts';
import { Badge, Harness, Person, Team } from './harness.test-support.ts';
import { terminal } from './definition/terminal-error.ts';

type Options = ControllerOptions<Person>;

describe('a controller', () => {
  let harness: Harness | undefined;

  const harnessFor = (options: Options): Harness => {
    harness = new Harness({ controllers: [controller(Person, options)] });
    return harness;
  };

  afterEach(async () => {
    await harness?.stop();
    expect(harness?.clock.pendingTimers ?? 0).to.equal(0);
    harness = undefined;
  });

  it('reconciles the objects that exist at the start, and those that are created later', async () => {
    const names: string[] = [];
    const at = harnessFor({ reconcile: ({ object }) => void names.push(object.spec.name) });
    await at.person('ada');
    await at.start();
    await at.person('bob');
    await at.idle();
    expect(names).to.deep.equal(['ada', 'bob']);
  });

  it('never runs a key twice at the same time, and runs the key once more for all changes during its run', async () => {
    let running = 0;
    let most = 0;
    const seen: string[] = [];
    let letGo = (): void => {};
    const at = harnessFor({
      async reconcile({ object }) {
        most = Math.max(most, (running += 1));
        await new Promise<void>((resolve) => (letGo = resolve));
        seen.push(object.spec.name);
        running -= 1;
      },
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => running === 1);
    for (const name of ['b', 'c', 'd']) await at.change(Person, 'ada', { spec: { name } });
    await at.holds(() => running === 1);
    letGo();
    await at.holds(() => seen.length === 1 && running === 1);
    letGo();
    await at.idle();
    expect(most).to.equal(1);
    expect(seen).to.deep.equal(['ada', 'd']);
  });

  it('runs as many keys at the same time as its concurrency allows, and no more', async () => {
    let running = 0;
    const waiting: (() => void)[] = [];
    const at = harnessFor({
      concurrency: 3,
      async reconcile() {
        running += 1;
        await new Promise<void>((resolve) => waiting.push(resolve));
        running -= 1;
      },
    });
    for (let index = 0; index < 10; index += 1) await at.person(`p${index}`);
    at.startOnly();
    await at.holds(() => running === 3);
    for (let done = 0; done < 10; done += 1) {
      await at.holds(() => running === Math.min(3, 10 - done));
      waiting.shift()?.();
    }
    await at.idle();
  });

  it('backs off after an error, which it logs with controller, key, attempt and reconcileID', async () => {
    const failures: number[] = [];
    const at = harnessFor({
      reconcile() {
        failures.push(at.clock.monotonicMs());
        if (failures.length < 4) throw new Error('boom');
      },
    });
    await at.person('ada');
    await at.start();
    await at.clock.advance(1000);
    expect(failures).to.deep.equal([0, 5, 15, 35]);
    const errors = at.lines('error');
    expect(errors.map(({ fields }) => fields['attempt'])).to.deep.equal([1, 2, 3]);
    expect(errors[0]?.fields).to.include({ controller: 'person', key: 'ada' });
    expect(new Set(errors.map(({ fields }) => fields['reconcileID']))).to.have.property('size', 3);
  });

  it('runs a key again after the delay that its run has returned, and resets its number of failed attempts to 0', async () => {
    const times: number[] = [];
    const at = harnessFor({
      reconcile() {
        times.push(at.clock.monotonicMs());
        if (times.length === 1) throw new Error('boom');
        return { after: '10m' };
      },
    });
    await at.person('ada');
    await at.start();
    await at.clock.advance(5);
    expect(at.manager.queue('Person')).to.deep.include({
      key: 'ada',
      state: 'delayed',
      priority: -100,
      attempts: 0,
      nextTime: at.clock.now() + 600_000,
      reasons: [{ type: 'timer' }],
    });
    await at.clock.advance(600_000);
    expect(times).to.deep.equal([0, 5, 600_005]);
  });

  it('treats an invalid delay in the result of a run as an error of the reconciler', async () => {
    const at = harnessFor({ reconcile: () => ({ after: 'soon' }) });
    await at.person('ada');
    await at.start();
    expect(String(at.lines('error')[0]?.fields['err'])).to.contain('after: "soon" is not a duration');
  });

  it('does not retry a terminal error until the object changes', async () => {
    let runs = 0;
    const at = harnessFor({
      reconcile() {
        runs += 1;
        throw terminal('no such team');
      },
    });
    await at.person('ada');
    await at.start();
    await at.clock.advance(10_000_000);
    expect(runs).to.equal(1);
    expect(at.manager.queue('person')[0]).to.include({ state: 'parked', lastError: 'no such team' });
    await at.change(Person, 'ada', { spec: { name: 'Ada' } });
    await at.idle();
    expect(runs).to.equal(2);
  });

  it('parks a key whose retries are exhausted, and reports it as parked', async () => {
    let runs = 0;
    const at = harnessFor({
      retryLimit: 2,
      reconcile() {
        runs += 1;
        throw new Error('boom');
      },
    });
    await at.person('ada');
    await at.start();
    await at.clock.advance(1_000_000);
    expect(runs).to.equal(3);
    expect(at.manager.queue('person')[0]).to.include({ state: 'parked', attempts: 3, lastError: 'boom' });
  });

  it('aborts the signal of a run that outlasts its timeout, and runs the key again after that run has ended', async () => {
    let runs = 0;
    let wasAborted = false;
    const at = harnessFor({
      timeoutMs: '30s',
      async reconcile({ signal }) {
        runs += 1;
        if (runs > 1) return;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        wasAborted = signal.aborted;
        return { after: 1 };
      },
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => runs === 1);
    await at.clock.advance(29_999);
    expect(wasAborted).to.equal(false);
    await at.clock.advance(1);
    expect(wasAborted).to.equal(true);
    await at.clock.advance(5);
    expect(runs).to.equal(2);
    expect(String(at.lines('error')[0]?.fields['err'])).to.contain('outlasted its timeout of 30000 ms');
  });

  it('runs again after a conflict once the cache has a newer state, without an error in the log', async () => {
    const seen: string[] = [];
    const informer = (): { hold(): void; release(): void } => at.client.informer(Person);
    const at = harnessFor({
      async reconcile({ object, client }) {
        seen.push(object.spec.name);
        if (seen.length === 2) await client.update({ ...object, spec: { name: 'from a stale state' } });
      },
    });
    await at.person('ada');
    await at.start();
    await at.change(Person, 'ada', { spec: { name: 'b' } });
    at.client.intercept = async (line) => {
      if (!line.startsWith('update')) return;
      at.client.intercept = () => {};
      informer().hold();
      await at.change(Person, 'ada', { spec: { name: 'c' } });
    };
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'delayed'));
    expect(seen).to.deep.equal(['ada', 'b']);
    expect(at.manager.isIdle()).to.equal(false);
    informer().release();
    await at.idle();
    expect(seen).to.deep.equal(['ada', 'b', 'c']);
    expect(at.lines('error')).to.deep.equal([]);
  });

  it('runs again after a conflict even if the conflicting change is one that causes no run by itself', async () => {
    const owners: (number | undefined)[] = [];
    const at = harnessFor({
      async reconcile({ object, client }) {
        owners.push(object.metadata.ownerReferences?.length);
        if (owners.length === 1) await client.update({ ...object, status: { greeting: 'stale' } });
      },
    });
    at.client.intercept = async (line) => {
      if (!line.startsWith('update')) return;
      at.client.intercept = () => {};
      at.client.informer(Person).hold();
      const reference = { apiVersion: 'v1', kind: 'Other', name: 'x', uid: 'y' };
      await at.change(Person, 'ada', { metadata: { ownerReferences: [reference] } });
    };
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'delayed'));
    at.client.informer(Person).release();
    await at.idle();
    expect(owners).to.deep.equal([undefined, 1]);
  });

  it('runs again at once after a conflict when the cache already has a newer state, but backs off after a second such conflict', async () => {
    const times: number[] = [];
    const at = harnessFor({
      reconcile() {
        times.push(at.clock.monotonicMs());
        throw new ApiError('Conflict', 'made up');
      },
    });
    await at.person('ada');
    await at.start();
    expect(times).to.deep.equal([0, 0]);
    await at.clock.advance(30);
    expect(times).to.deep.equal([0, 0, 10, 30]);
    expect(at.lines('error')).to.deep.equal([]);
  });

  it('passes the reasons of a run to reconcile', async () => {
    const reasons: unknown[] = [];
    const at = harnessFor({
      owns: [Badge],
      watches: [on(Team, (team) => [team.spec.text])],
      async reconcile(context) {
        reasons.push(context.reasons);
        await context.ensure(Badge, 'of-ada', { spec: { text: context.object.spec.name } });
      },
    });
    await at.person('ada');
    await at.start();
    await at.client.create(Team, { metadata: { name: 'red' }, spec: { text: 'ada' } });
    await at.idle();
    at.client.informer(Person).resync();
    await at.idle();
    expect(reasons).to.deep.equal([
      [{ type: 'event', detail: 'ADDED' }],
      [{ type: 'owner', detail: 'Badge of-ada', resourceVersion: '102' }],
      [{ type: 'mapping', detail: 'Team red', resourceVersion: '103' }],
      [{ type: 'resync' }],
    ]);
  });

  it('calls a mapping for the states before and after an update, and continues when the mapping throws', async () => {
    const runs: string[] = [];
    const at = harnessFor({
      watches: [
        on(Team, (team) => {
          if (team.spec.text === 'throw') throw new Error('bad team');
          return [team.spec.text];
        }),
      ],
      reconcile: ({ name }) => void runs.push(name),
    });
    await at.person('ada');
    await at.person('bob');
    await at.client.create(Team, { metadata: { name: 'red' }, spec: { text: 'throw' } });
    await at.start();
    await at.change(Team, 'red', { spec: { text: 'ada' } });
    await at.idle();
    runs.length = 0;
    await at.change(Team, 'red', { spec: { text: 'bob' } });
    await at.idle();
    expect(runs.sort()).to.deep.equal(['ada', 'bob']);
    expect(at.lines('error')[0]?.fields).to.deep.include({ controller: 'person', from: { kind: 'Team', key: 'red' } });
  });

  it('enqueues the controlling owner of an object for any API version in the reference, but not for another group', async () => {
    const runs: string[] = [];
    const at = harnessFor({ owns: [Badge], reconcile: ({ name }) => void runs.push(name) });
    for (const name of ['ada', 'bob', 'eve']) await at.person(name);
    await at.start();
    runs.length = 0;
    const owned = async (name: string, reference: object): Promise<void> => {
      const owner = { kind: 'Person', uid: 'u', controller: true, ...reference } as never;
      await at.client.create(Badge, { metadata: { name, ownerReferences: [owner] }, spec: { text: '' } });
    };
    await owned('x', { apiVersion: 'people.example.com/v9', name: 'ada' });
    await owned('y', { apiVersion: 'other.example.com/v1alpha1', name: 'bob' });
    await owned('z', { apiVersion: 'people.example.com/v1alpha1', name: 'eve', controller: false });
    await at.idle();
    expect(runs).to.deep.equal(['ada']);
  });

  it('logs a warning, at most once a minute, that names a key that runs too often', async () => {
    const at = harnessFor({ hotLoopRunsPerMinute: 10, reconcile: () => ({ after: '1s' }) });
    await at.person('ada');
    await at.start();
    await at.clock.advance(59_000);
    expect(at.lines('warn')).to.have.length(1);
    expect(at.lines('warn')[0]?.fields).to.include({ controller: 'person', key: 'ada', runsPerMinute: 10 });
    expect(at.lines('warn')[0]?.message).to.include('"ada" ran more than 10 times in a minute');
  });

  it('when each run changes the spec of the object, warns about frequent runs only above ten times the limit', async () => {
    const at = harnessFor({
      hotLoopRunsPerMinute: 3,
      async reconcile({ object, client }) {
        const patch = { spec: { age: object.metadata.generation } };
        if (object.metadata.generation < 40) await client.patch(Person, object.metadata.name, { type: 'merge', patch });
      },
    });
    await at.person('ada');
    await at.start();
    await at.idle();
    const [warning, ...others] = at.lines('warn');
    expect(warning?.message).to.include(
      '"ada" ran more than 30 times in a minute, and its spec changed again and again',
    );
    expect(others).to.deep.equal([]);
  });

  it('accepts a reconciler object, and calls its method reconcile also when the object of the key does not exist', async () => {
    class Greeter {
      readonly keys: string[] = [];
      reconcile({ name }: { readonly name: string }): { requeue: boolean } | { requeueAfter: string } {
        this.keys.push(name);
        return this.keys.length === 1 ? { requeue: true } : { requeueAfter: '1h' };
      }
    }
    const greeter = new Greeter();
    const at = new Harness({ controllers: [controllerFor(Person).with({ name: 'greeter' }).reconcile(greeter)] });
    harness = at;
    await at.person('ada');
    await at.start();
    await at.clock.advance(5);
    await at.delete(Person, 'ada');
    await at.idle();
    expect(greeter.keys).to.deep.equal(['ada', 'ada', 'ada']);
    expect(at.client.peek(Person, 'ada')).to.equal(undefined);
  });
});
