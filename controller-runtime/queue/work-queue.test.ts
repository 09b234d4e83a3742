import { expect } from 'chai';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { WorkQueue, type WorkQueueOptions } from './work-queue.ts';

describe('WorkQueue', () => {
  let clock: FakeClock;

  const queueWith = (options: Omit<WorkQueueOptions, 'clock'> = {}): WorkQueue => new WorkQueue({ clock, ...options });
  const takeAll = (queue: WorkQueue): string[] => {
    const keys: string[] = [];
    for (let item = queue.get(); item !== undefined; item = queue.get()) keys.push(item.key);
    return keys;
  };
  const stateOf = (queue: WorkQueue, key: string): string | undefined =>
    queue.snapshot().find((entry) => entry.key === key)?.state;

  beforeEach(() => {
    clock = new FakeClock();
  });

  it('returns a key once after several adds', () => {
    const queue = queueWith();
    for (let times = 0; times < 5; times += 1) queue.add('a');
    expect(takeAll(queue)).to.deep.equal(['a']);
  });

  it('returns a key exactly once more when it was added while it was being processed', () => {
    const queue = queueWith();
    queue.add('a');
    queue.get();
    queue.add('a');
    queue.add('a');
    expect(queue.get()).to.equal(undefined);
    queue.done('a');
    expect(takeAll(queue)).to.deep.equal(['a']);
    queue.done('a');
    expect(queue.get()).to.equal(undefined);
    expect(queue.snapshot()).to.deep.equal([]);
  });

  it('returns the key with the highest priority first, and keys of the same priority in the order in which they became ready', () => {
    const queue = queueWith();
    queue.add('resync', { priority: -100 });
    queue.add('a');
    queue.add('b');
    queue.add('urgent', { priority: 7 });
    expect(takeAll(queue)).to.deep.equal(['urgent', 'a', 'b', 'resync']);
  });

  it('puts a key whose priority is raised behind the other keys with this priority, and never lowers a priority', () => {
    const queue = queueWith();
    queue.add('low', { priority: -100 });
    queue.add('a');
    queue.add('low');
    queue.add('b');
    queue.add('a', { priority: -100 });
    expect(takeAll(queue)).to.deep.equal(['a', 'low', 'b']);
  });

  it('returns keys in the order of their priorities even with a hundred different priorities', () => {
    const queue = queueWith();
    for (let priority = 0; priority < 100; priority += 1) {
      queue.add(`k${priority}`, { priority });
      expect(queue.get()?.key).to.equal(`k${priority}`);
    }
    queue.add('low', { priority: -3 });
    for (let priority = 0; priority < 100; priority += 1) queue.add(`again${priority}`, { priority });
    expect(takeAll(queue).slice(-2)).to.deep.equal(['again0', 'low']);
  });

  it('uses the earliest of several delays', async () => {
    const queue = queueWith();
    queue.addAfter('a', 1000);
    queue.addAfter('a', 50);
    queue.addAfter('a', 3000);
    await clock.advance(49);
    expect(queue.length).to.equal(0);
    await clock.advance(1);
    expect(takeAll(queue)).to.deep.equal(['a']);
    queue.done('a');
    await clock.advance(10_000);
    expect(queue.length).to.equal(0);
  });

  it('makes a delayed key ready at once on a plain add, and returns it only once', async () => {
    const queue = queueWith();
    queue.addAfter('a', 1000);
    queue.add('a');
    expect(takeAll(queue)).to.deep.equal(['a']);
    queue.done('a');
    await clock.advance(2000);
    expect(queue.length).to.equal(0);
  });

  it('treats a delay of zero or less as a plain add', () => {
    const queue = queueWith();
    queue.addAfter('a', 0);
    queue.addAfter('b', -5);
    queue.addAfter('c', NaN);
    expect(takeAll(queue)).to.deep.equal(['a', 'b', 'c']);
  });

  it('accepts a delay that exceeds the maximum of a timer', async () => {
    const queue = queueWith();
    const sixtyDaysMs = 60 * 86_400_000;
    queue.addAfter('a', sixtyDaysMs);
    await clock.advance(sixtyDaysMs - 1);
    expect(queue.length).to.equal(0);
    await clock.advance(1);
    expect(queue.length).to.equal(1);
  });

  it('makes a key ready after its run when its delay ended during the run', async () => {
    const queue = queueWith();
    queue.add('a');
    queue.get();
    queue.addAfter('a', 10);
    await clock.advance(20);
    queue.done('a');
    expect(queue.length).to.equal(1);
  });

  it('after `add` of every third of 500 delayed keys, returns these keys immediately, and the others in order of their times', async () => {
    const queue = queueWith();
    const count = 500;
    for (let index = 0; index < count; index += 1) queue.addAfter(`k${index}`, 1 + ((index * 7919) % 1009));
    for (let index = 0; index < count; index += 3) queue.add(`k${index}`);
    const ready = takeAll(queue).length;
    await clock.advance(2000);
    const times = takeAll(queue).map((key) => 1 + ((Number(key.slice(1)) * 7919) % 1009));
    expect(ready + times.length).to.equal(count);
    expect(times).to.deep.equal([...times].sort((a, b) => a - b));
  });

  it("keeps a key's priority when it is requeued", async () => {
    const queue = queueWith();
    queue.add('low', { priority: -100 });
    queue.get();
    queue.addRateLimited('low');
    queue.done('low');
    await clock.advance(5);
    queue.add('a');
    expect(takeAll(queue)).to.deep.equal(['a', 'low']);
  });

  it('backs off by key: 5 ms, doubled up to 1000 s, and again from 5 ms after forget', async () => {
    const queue = queueWith();
    const delays: number[] = [];
    const fail = (): void => {
      queue.addRateLimited('a');
      const nextTime = queue.snapshot()[0]?.nextTime ?? NaN;
      delays.push(nextTime - clock.now());
      queue.add('a');
      queue.done(queue.get()?.key ?? '');
    };
    for (let times = 0; times < 2000; times += 1) fail();
    expect(delays.slice(0, 4)).to.deep.equal([5, 10, 20, 40]);
    expect(delays.at(-1)).to.equal(1_000_000);
    queue.forget('a');
    fail();
    expect(delays.at(-1)).to.equal(5);
  });

  it('reports first the keys that fail or are parked, then a limited number of the others, and counts all keys', () => {
    const queue = queueWith();
    for (const key of ['a', 'b', 'c', 'd', 'fails']) queue.add(key);
    queue.addAfter('later', 1000);
    queue.park('parked', 'no luck');
    let failing = queue.get();
    while (failing !== undefined && failing.key !== 'fails') {
      queue.done(failing.key);
      queue.add(failing.key);
      failing = queue.get();
    }
    queue.addRateLimited('fails', { error: 'boom' });
    queue.done('fails');
    const keys = (limit: number, usual: number): readonly string[] => queue.waiting(limit, usual).map(({ key }) => key);
    expect(keys(10, 2)).to.deep.equal(['parked', 'fails', 'a', 'b']);
    expect(keys(10, 10)).to.have.members(['parked', 'fails', 'a', 'b', 'c', 'd', 'later']);
    expect(keys(1, 10)).to.deep.equal(['parked']);
    expect(queue.sizes()).to.deep.equal({ processing: 0, parked: 1, delayed: 2, ready: 4 });
    expect(queue.failing).to.equal(1);
    queue.forget('fails');
    expect(queue.failing).to.equal(0);
  });

  it('parks a key when its retries are used up, and resets its failures when its object changes', async () => {
    const queue = queueWith({ retryLimit: 2 });
    const run = (): string => {
      queue.get();
      const answer = queue.addRateLimited('a', { error: 'boom' });
      queue.done('a');
      return answer;
    };
    queue.add('a');
    const answers = [run()];
    await clock.advance(5);
    answers.push(run());
    await clock.advance(10);
    answers.push(run());
    expect(answers).to.deep.equal(['delayed', 'delayed', 'parked']);
    const failingSince = clock.now() - 15;
    expect(queue.snapshot()).to.deep.equal([
      { key: 'a', state: 'parked', priority: 0, attempts: 3, failingSince, lastError: 'boom', reasons: [] },
    ]);
    queue.add('a', { reason: { type: 'resync' } });
    queue.addAfter('a', 1, { reason: { type: 'timer' } });
    await clock.advance(1_000_000);
    expect(stateOf(queue, 'a')).to.equal('parked');
    queue.add('a', { reason: { type: 'event' } });
    expect(queue.get()?.attempts).to.equal(0);
    expect(queue.addRateLimited('a')).to.equal('delayed');
  });

  it('does not park a key whose object changed during the run that failed', () => {
    const queue = queueWith();
    queue.add('a');
    queue.get();
    queue.add('a', { reason: { type: 'event' } });
    queue.park('a', 'terminal');
    queue.done('a');
    expect(stateOf(queue, 'a')).to.equal('ready');
  });

  it('does not park a key whose object changed during the run that exceeded the retry limit, and resets its failures', () => {
    const queue = new WorkQueue({ clock, retryLimit: 0 });
    queue.add('a');
    queue.get();
    queue.add('a', { reason: { type: 'event' } });
    expect(queue.addRateLimited('a', { error: 'boom' })).to.equal('delayed');
    queue.done('a');
    expect(queue.snapshot().map(({ state, attempts }) => [state, attempts])).to.deep.equal([['ready', 0]]);
  });

  it('parks a key after a terminal failure, and keeps its failure count, if only a resync added the key during the run', () => {
    const queue = queueWith();
    queue.add('a');
    queue.get();
    queue.addRateLimited('a');
    queue.add('a', { reason: { type: 'resync' } });
    queue.park('a', 'terminal');
    queue.done('a');
    expect(stateOf(queue, 'a')).to.equal('parked');
    queue.add('a');
    expect(queue.get()?.attempts).to.equal(1);
  });

  it('keeps the first eight distinct reasons of a run, and starts a new list with the next run', () => {
    const queue = queueWith();
    for (let index = 0; index < 20; index += 1) {
      queue.add('a', { reason: { type: 'owner', detail: `Badge b${Math.floor(index / 2)}` } });
    }
    const item = queue.get();
    expect(item?.reasons).to.have.length(8);
    expect(item?.reasons[7]).to.deep.equal({ type: 'owner', detail: 'Badge b7' });
    queue.add('a', { reason: { type: 'event' } });
    queue.done('a');
    expect(queue.get()?.reasons).to.deep.equal([{ type: 'event' }]);
  });

  it('counts only ready keys in its length', () => {
    const queue = queueWith();
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    queue.addAfter('e', 100);
    queue.get();
    queue.park('b');
    expect(queue.length).to.equal(2);
    expect(queue.snapshot().map(({ key, state }) => `${key} ${state}`)).to.have.members([
      'a processing',
      'b parked',
      'c ready',
      'd ready',
      'e delayed',
    ]);
  });

  it('calls onReady each time that a key becomes ready', async () => {
    let told = 0;
    const queue = queueWith({ onReady: () => (told += 1) });
    queue.add('a');
    queue.add('a');
    queue.addAfter('b', 10);
    expect(told).to.equal(1);
    await clock.advance(10);
    expect(told).to.equal(2);
    queue.get();
    queue.add('a');
    queue.done('a');
    expect(told).to.equal(3);
  });

  it('refuses new keys after shutdown, returns no keys, and leaves no timer', async () => {
    const queue = queueWith();
    queue.add('a');
    queue.addAfter('b', 10);
    queue.shutdown();
    queue.add('c');
    queue.addAfter('d', 10);
    await clock.advance(100);
    expect(queue.get()).to.equal(undefined);
    expect(queue.length).to.equal(1);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('shutdownWithDrain resolves when the last run has ended', async () => {
    const queue = queueWith();
    queue.add('a');
    queue.add('b');
    queue.get();
    queue.get();
    let isDrained = false;
    const drain = queue.shutdownWithDrain().then(() => (isDrained = true));
    queue.done('a');
    await clock.advance(0);
    expect(isDrained).to.equal(false);
    queue.done('b');
    await drain;
  });

  it('a pending shutdownWithDrain resolves when shutdown is called', async () => {
    const queue = queueWith();
    queue.add('a');
    queue.get();
    const drain = queue.shutdownWithDrain();
    queue.shutdown();
    await drain;
    expect(queue.processing).to.equal(1);
  });

  it('done() throws for a key that no worker has taken', () => {
    const queue = queueWith();
    queue.add('a');
    expect(() => queue.done('a')).to.throw('no run of this key');
    expect(() => queue.done('b')).to.throw('no run of this key');
  });

  it('counts its keys by state, and shows at most the requested number of keys, running and parked ones first', () => {
    const queue = queueWith({ retryLimit: 0 });
    for (const key of ['runs', 'fails']) {
      queue.add(key);
      queue.get();
    }
    queue.add('ready');
    queue.addAfter('later', 1000);
    queue.addRateLimited('fails', { error: 'no' });
    queue.done('fails');
    expect(queue.sizes()).to.deep.equal({ processing: 1, parked: 1, delayed: 1, ready: 1 });
    const keys = (limit?: number): string[] => queue.snapshot(limit).map(({ key }) => key);
    expect(keys()).to.deep.equal(['runs', 'fails', 'later', 'ready']);
    expect(keys(2)).to.deep.equal(['runs', 'fails']);
    expect(keys(0)).to.deep.equal([]);
  });
});
