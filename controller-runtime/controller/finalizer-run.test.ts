import { expect } from 'chai';
import { eachHarness, Person } from './harness.test-support.ts';

const finalizer = 'people.example.com/person';

describe('the finalizer of a controller with a cleanup', () => {
  const harnessFor = eachHarness();

  it('the finalizer is stored in the object before the first reconcile', async () => {
    const seen: unknown[] = [];
    const at = harnessFor({
      reconcile: ({ object }) =>
        void seen.push(object.metadata.finalizers, at.client.peek(Person, 'ada')?.metadata.finalizers),
      cleanup() {},
    });
    await at.person('ada');
    await at.start();
    expect(seen).to.deep.equal([[finalizer], [finalizer]]);
  });

  it('when an object is deleted, cleanup is called in place of reconcile until it succeeds; then the object is removed', async () => {
    const calls: string[] = [];
    const at = harnessFor({
      reconcile: () => void calls.push('reconcile'),
      cleanup() {
        calls.push('cleanup');
        if (calls.length < 3) throw new Error('not yet');
      },
    });
    await at.person('ada');
    await at.start();
    await at.delete(Person, 'ada');
    await at.idle();
    expect(at.client.peek(Person, 'ada')?.metadata.deletionTimestamp).to.be.a('string');
    await at.clock.advance(5);
    await at.idle();
    expect(calls).to.deep.equal(['reconcile', 'cleanup', 'cleanup']);
    expect(at.client.peek(Person, 'ada')).to.equal(undefined);
  });

  it('the finalizer stays while cleanup requests another run', async () => {
    let cleanups = 0;
    const at = harnessFor({
      reconcile() {},
      cleanup: () => ((cleanups += 1) < 3 ? { after: '1s' } : undefined),
    });
    await at.person('ada');
    await at.start();
    await at.delete(Person, 'ada');
    await at.idle();
    await at.clock.advance(1000);
    expect(at.client.peek(Person, 'ada')?.metadata.finalizers).to.deep.equal([finalizer]);
    await at.clock.advance(1000);
    expect(at.client.peek(Person, 'ada')).to.equal(undefined);
  });

  it('the removal of the finalizer keeps other finalizers; after the removal, the object is not reconciled again', async () => {
    const calls: string[] = [];
    const at = harnessFor({ reconcile: () => void calls.push('reconcile'), cleanup: () => void calls.push('cleanup') });
    await at.person('ada');
    await at.change(Person, 'ada', { metadata: { finalizers: ['example.com/other'] } });
    await at.start();
    await at.delete(Person, 'ada');
    await at.idle();
    await at.change(Person, 'ada', { metadata: { labels: { a: 'b' } } });
    await at.idle();
    expect(calls).to.deep.equal(['reconcile', 'cleanup']);
    expect(at.client.peek(Person, 'ada')?.metadata.finalizers).to.deep.equal(['example.com/other']);
  });

  it('the finalizer is removed without a second cleanup when another client changes only the metadata during the cleanup', async () => {
    let cleanups = 0;
    const at = harnessFor({
      reconcile() {},
      async cleanup() {
        cleanups += 1;
        await at.change(Person, 'ada', { metadata: { annotations: { a: 'b' } } });
      },
    });
    await at.person('ada');
    await at.start();
    await at.delete(Person, 'ada');
    await at.idle();
    expect(cleanups).to.equal(1);
    expect(at.client.peek(Person, 'ada')).to.equal(undefined);
  });

  it('the finalizer is added without the loss of a finalizer that another client adds at the same time', async () => {
    const at = harnessFor({ reconcile() {}, cleanup() {} });
    at.client.intercept = async (line) => {
      if (line !== 'patch persons/ada') return;
      at.client.intercept = () => {};
      await at.change(Person, 'ada', { metadata: { finalizers: ['example.com/other'] } });
    };
    await at.person('ada');
    await at.start();
    expect(at.client.peek(Person, 'ada')?.metadata.finalizers).to.deep.equal(['example.com/other', finalizer]);
  });

  it('no second cleanup starts when the cache still shows the removed finalizer', async () => {
    let cleanups = 0;
    const at = harnessFor({
      reconcile() {},
      cleanup() {
        cleanups += 1;
        at.client.informer(Person).hold();
      },
    });
    await at.person('ada');
    await at.change(Person, 'ada', { metadata: { finalizers: ['example.com/other'] } });
    await at.start();
    await at.delete(Person, 'ada');
    await at.holds(() => cleanups === 1 && at.client.peek(Person, 'ada')?.metadata.finalizers?.length === 1);
    at.client.informer(Person).resync();
    await at.holds(() => at.manager.queue('person').length === 0);
    expect(cleanups).to.equal(1);
    at.client.informer(Person).release();
    await at.idle();
  });

  it('a controller that no longer has a cleanup removes its finalizer', async () => {
    let runs = 0;
    const at = harnessFor({ reconcile: () => void (runs += 1) });
    await at.person('ada');
    await at.change(Person, 'ada', { metadata: { finalizers: [finalizer, 'example.com/other'] } });
    await at.person('bob');
    await at.change(Person, 'bob', { metadata: { finalizers: [finalizer] } });
    await at.delete(Person, 'bob');
    await at.start();
    expect(runs).to.equal(1);
    expect(at.client.peek(Person, 'ada')?.metadata.finalizers).to.deep.equal(['example.com/other']);
    expect(at.client.peek(Person, 'bob')).to.equal(undefined);
  });

  for (const [what, options, finalizers] of [
    ['is not added to', { cleanup() {} }, ['example.com/other']],
    ['is removed from', {}, [finalizer, 'example.com/other']],
  ] as const) {
    it(`the finalizer ${what} an object whose deletion begins during the PATCH of its finalizers; reconcile is not called`, async () => {
      const calls: string[] = [];
      const at = harnessFor({
        reconcile: ({ object }) => void calls.push(`${object.metadata.deletionTimestamp}`),
        ...options,
      });
      await at.person('ada');
      await at.change(Person, 'ada', { metadata: { finalizers } });
      at.client.intercept = async (line) => {
        if (line !== 'patch persons/ada') return;
        at.client.intercept = () => {};
        await at.delete(Person, 'ada');
      };
      await at.start();
      expect(calls).to.deep.equal([]);
      expect(at.lines('error')).to.deep.equal([]);
      expect(at.client.peek(Person, 'ada')?.metadata.finalizers).to.deep.equal(['example.com/other']);
    });
  }

  it('the finalizer stays when the timeout aborts the signal of cleanup, even if cleanup then returns', async () => {
    const at = harnessFor({
      timeoutMs: 100,
      reconcile() {},
      cleanup: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    });
    await at.person('ada');
    await at.start();
    await at.delete(Person, 'ada');
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'processing'));
    await at.clock.advance(100);
    expect(at.client.peek(Person, 'ada')?.metadata.finalizers).to.deep.equal([finalizer]);
    at.beginStop();
    await at.clock.advance(200);
  });
});
