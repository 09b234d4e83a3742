import { expect } from 'chai';
import { controller } from '../controller/definition/controller-definition.ts';
import { Badge, Harness, Person } from '../controller/harness.test-support.ts';
import type { Runnable } from './runnable.ts';

describe('a manager', () => {
  let harness: Harness | undefined;

  const greeter = (reconcile: () => void | Promise<void>, name = 'greeter') => controller(Person, { name, reconcile });

  const harnessFor = (options: ConstructorParameters<typeof Harness>[0]): Harness => {
    harness = new Harness(options);
    return harness;
  };

  afterEach(async () => {
    await harness?.stop();
    expect(harness?.clock.pendingTimers ?? 0).to.equal(0);
    harness = undefined;
  });

  it('is idle only once all existing objects have been reconciled', async () => {
    let runs = 0;
    const at = harnessFor({ controllers: [greeter(() => void (runs += 1))] });
    for (let index = 0; index < 200; index += 1) await at.person(`p${index}`);
    expect(at.manager.isIdle()).to.equal(false);
    await at.start();
    expect(runs).to.equal(200);
  });

  it('starts to reconcile only when every cache of the controller is synced, and logs the names of the caches that are not synced', async () => {
    let runs = 0;
    const at = harnessFor({
      controllers: [controller(Person, { owns: [Badge], reconcile: () => void (runs += 1) })],
    });
    await at.person('ada');
    at.client.informer(Badge).hold();
    at.startOnly();
    await at.holds(() => at.client.informer(Person).hasSynced());
    await at.clock.advance(121_000);
    await at.holds(() => at.lines('error').length > 0);
    expect(runs).to.equal(0);
    expect(at.lines('error')[0]?.fields).to.deep.include({
      kinds: ['people.example.com/v1alpha1/Badge'],
      controller: 'person',
    });
    at.client.informer(Badge).release();
    await at.clock.runUntil(() => runs === 1);
    await at.idle();
  });

  it('continues to run other controllers when a controller cannot follow its kind, and tries again to start this controller', async () => {
    let runs = 0;
    const at = harnessFor({
      controllers: [greeter(() => void (runs += 1)), controller(Badge, { reconcile() {} })],
    });
    at.client.informer(Badge).failure = new Error('no such kind');
    await at.person('ada');
    at.startOnly();
    await at.holds(() => runs === 1);
    await at.clock.advance(5000);
    expect(at.client.informer(Badge).runs).to.be.greaterThan(2);
    expect(at.lines('error')[0]?.fields).to.include({ controller: 'badge', kind: 'people.example.com/v1alpha1/Badge' });
    at.client.informer(Badge).failure = undefined;
    await at.clock.runUntil(() => at.manager.isIdle());
  });

  it('when it stops, aborts the signals of all runs immediately, starts no further run, and lets runs send requests until the grace period ends', async () => {
    const ended: string[] = [];
    const told: string[] = [];
    let letGo = (): void => {};
    const at = harnessFor({
      controllers: [
        controller(Person, {
          concurrency: 1,
          async reconcile({ name, signal, status }) {
            signal.addEventListener('abort', () => told.push(`${name}: ${(signal.reason as Error).message}`));
            await new Promise<void>((resolve) => (letGo = resolve));
            await status({ greeting: 'so far' });
            ended.push(name);
          },
        }),
      ],
    });
    await at.person('ada');
    await at.person('bob');
    at.startOnly();
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'processing'));
    at.beginStop();
    await at.holds(() => told.length > 0);
    expect(told).to.deep.equal(['ada: the controller is stopping']);
    await at.clock.advance(29_000);
    letGo();
    await at.stop();
    expect(ended).to.deep.equal(['ada']);
    expect((await at.client.get(Person, 'ada')).status?.greeting).to.equal('so far');
    expect(at.lines('warn')).to.deep.equal([]);
  });

  it('does not log the error of a run that ends because the manager stops', async () => {
    const at = harnessFor({
      controllers: [
        controller(Person, {
          async reconcile({ signal }) {
            await new Promise<void>((_, reject) =>
              signal.addEventListener('abort', () => reject(signal.reason as Error)),
            );
          },
        }),
      ],
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'processing'));
    await at.stop();
    expect([...at.lines('error'), ...at.lines('warn')]).to.deep.equal([]);
  });

  it('abandons runs that exceed the grace period, with a warning that names them', async () => {
    let wasAborted = false;
    const at = harnessFor({
      controllers: [
        controller(Person, {
          async reconcile({ signal }) {
            signal.addEventListener('abort', () => (wasAborted = true));
            await new Promise<void>(() => {});
          },
        }),
      ],
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'processing'));
    at.beginStop();
    await at.clock.advance(30_000);
    await at.stop();
    expect(wasAborted).to.equal(true);
    expect(at.lines('warn')[0]?.fields).to.deep.include({ controller: 'person', keys: ['ada'] });
  });

  it('adds and removes controllers while it runs', async () => {
    const runs: string[] = [];
    const at = harnessFor({ controllers: [greeter(() => void runs.push('one'), 'one')] });
    await at.person('ada');
    await at.start();
    at.manager.add(greeter(() => void runs.push('two'), 'two'));
    await at.idle();
    await at.manager.remove('one');
    await at.manager.remove('never-there');
    await at.person('bob');
    await at.idle();
    expect(runs).to.deep.equal(['one', 'two', 'two']);
    expect(() => at.manager.queue('one')).to.throw('no controller "one"');
    at.manager.add(greeter(() => void runs.push('one again'), 'one'));
    await at.idle();
    expect(runs.slice(3)).to.deep.equal(['one again', 'one again']);
  });

  it('refuses two controllers with the same name, and finds a queue by the name or the kind of its controller', async () => {
    const at = harnessFor({ controllers: [greeter(() => {})] });
    expect(() => at.manager.add(greeter(() => {}))).to.throw('a controller "greeter" already');
    expect(at.manager.queue('greeter')).to.deep.equal([]);
    expect(at.manager.queue('Person')).to.deep.equal([]);
    expect(() => at.manager.queue('Badge')).to.throw('no controller "Badge"');
  });

  it('starts its runnables first and stops them last; it logs a runnable that fails, and all others continue', async () => {
    const events: string[] = [];
    const part: Runnable = {
      name: 'part',
      async run(signal) {
        events.push('part starts');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        events.push('part stops');
      },
    };
    const broken: Runnable = { name: 'broken', run: () => Promise.reject(new Error('boom')) };
    const at = harnessFor({
      runnables: [part, broken],
      controllers: [
        greeter(async () => {
          events.push('run starts');
          await new Promise((resolve) => setImmediate(resolve));
          events.push('run ends');
        }),
      ],
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.isIdle());
    await at.stop();
    expect(events).to.deep.equal(['part starts', 'run starts', 'run ends', 'part stops']);
    expect(at.lines('error')[0]?.fields).to.include({ part: 'broken' });
  });

  it('continues to run a controller when a runnable with the same name fails', async () => {
    const broken: Runnable = { name: 'greeter', run: () => Promise.reject(new Error('boom')) };
    const at = harnessFor({ runnables: [broken], controllers: [greeter(() => Promise.reject(new Error('later')))] });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.stateOf('greeter', 'ada')?.state === 'delayed');
  });

  it('continues when a reconciler throws a value that is not an Error', async () => {
    let runs = 0;
    const at = harnessFor({
      controllers: [
        greeter(() => {
          runs += 1;
          if (runs === 1) throw null;
        }),
      ],
    });
    await at.person('ada');
    await at.start();
    await at.clock.advance(5);
    expect(runs).to.equal(2);
  });
});
