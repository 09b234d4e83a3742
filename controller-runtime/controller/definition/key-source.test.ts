import { EventEmitter, on } from 'node:events';
import { expect } from 'chai';
import type { Reason } from '../../queue/reason.ts';
import { controller } from './controller-definition.ts';
import { Harness, Person } from '../harness.test-support.ts';
import { poll, source, type KeySource } from './key-source.ts';

describe('a source of keys', () => {
  let harness: Harness | undefined;
  const runs: string[] = [];
  const reasons: Reason[] = [];

  /** Starts a controller with the objects ada and bob. Resolves when each has been reconciled once. */
  const startWith = async (...sources: readonly KeySource[]): Promise<Harness> => {
    const reconcile = (run: { readonly name: string; readonly reasons: readonly Reason[] }): void => {
      runs.push(run.name);
      reasons.push(...run.reasons);
    };
    const at = new Harness({ controllers: [controller(Person, { sources, reconcile })] });
    harness = at;
    await at.person('ada');
    await at.person('bob');
    await at.start();
    return at;
  };

  beforeEach(() => {
    runs.length = 0;
    reasons.length = 0;
  });

  afterEach(async () => {
    await harness?.stop();
    expect(harness?.clock.pendingTimers ?? 0).to.equal(0);
    harness = undefined;
  });

  it('an EventEmitter can be a source, whose events cause runs with a reason', async () => {
    const emitter = new EventEmitter();
    const at = await startWith(
      source('orders', async function* orders({ signal }) {
        for await (const [name] of on(emitter, 'order', { signal })) yield name as string;
      }),
    );
    emitter.emit('order', 'bob');
    await at.holds(() => runs.length === 3);
    expect(runs).to.deep.equal(['ada', 'bob', 'bob']);
    expect(reasons.at(-1)).to.deep.equal({ type: 'event', detail: 'source orders' });
    await at.stop();
    expect(emitter.listenerCount('order')).to.equal(0);
    expect(at.lines('error')).to.deep.equal([]);
  });

  it('a function can be a source; the function is called again after each interval', async () => {
    let asked = 0;
    const at = await startWith(poll('inbox', '1m', () => ((asked += 1) > 1 ? [{ name: 'ada' }] : [])));
    runs.length = 0;
    await at.clock.advance(59_999);
    expect([asked, ...runs]).to.deep.equal([1]);
    await at.clock.advance(1);
    await at.idle();
    await at.clock.advance(60_000);
    await at.idle();
    expect([asked, ...runs]).to.deep.equal([3, 'ada', 'ada']);
  });

  it('a source that throws is reported, and restarted after a back-off', async () => {
    let begun = 0;
    const at = await startWith(
      source('broken', async function* broken() {
        begun += 1;
        yield 'ada';
        if (begun < 3) throw new Error('broken pipe');
      }),
    );
    expect(begun).to.equal(1);
    await at.clock.advance(800 + 1600);
    await at.idle();
    expect(begun).to.equal(3);
    expect(at.lines('error').map(({ fields }) => [fields['controller'], fields['source']])).to.deep.equal([
      ['person', 'broken'],
      ['person', 'broken'],
    ]);
    // A source that returns is not started again.
    await at.clock.advance(100_000);
    expect(begun).to.equal(3);
  });

  it('a source waits only the first delay before its restart when its last failure was more than two minutes ago', async () => {
    let begun = 0;
    let fail = (): void => {};
    const at = await startWith(
      source('flaky', async function* flaky({ signal }) {
        begun += 1;
        if (begun < 5) throw new Error('broken pipe');
        yield 'ada';
        await new Promise<void>((resolve) => {
          fail = resolve;
          signal.addEventListener('abort', fail);
        });
        throw new Error('broken pipe');
      }),
    );
    await at.clock.advance(800 + 1600 + 3200 + 6400);
    await at.idle();
    expect(begun).to.equal(5);
    await at.clock.advance(120_001);
    fail();
    await at.clock.advance(800);
    expect(begun).to.equal(6);
  });

  it('an invalid key is skipped and reported, and the source continues', async () => {
    const given = ['home/ada', undefined, 'bob'] as readonly string[];
    const at = await startWith(poll('odd', '1h', () => given));
    runs.length = 0;
    await at.clock.advance(3_600_000);
    await at.idle();
    expect(runs).to.deep.equal(['bob']);
    expect(String(at.lines('error')[0]?.fields['err'])).to.contain('"home/ada" is not a key of a Person');
    expect(at.lines('error')).to.have.length(4);
  });

  it('a source that yields keys without waiting does not block the event loop', async () => {
    let isOver = false;
    const at = await startWith(
      source('endless', async function* endless({ signal }) {
        while (!signal.aborted) yield 'ada';
        isOver = true;
      }),
    );
    expect(runs).to.include('bob');
    await at.stop();
    expect(isOver).to.equal(true);
  });

  it('a source that does not end within the grace period is abandoned, and a warning names it', async () => {
    const at = await startWith(
      source('deaf', async function* deaf() {
        yield 'ada';
        await new Promise(() => {});
      }),
    );
    at.beginStop();
    await at.clock.advance(30_000);
    await at.stop();
    expect(at.lines('warn').map(({ fields }) => fields)).to.deep.equal([
      { controller: 'person', source: 'deaf', graceMs: 30_000 },
    ]);
  });

  it('a source with an invalid interval is refused', () => {
    for (const interval of [0, -1, 'soon']) expect(() => poll('inbox', interval, () => [])).to.throw(RangeError);
  });
});
