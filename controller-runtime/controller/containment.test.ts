import { expect } from 'chai';
import type { ReconcileResult } from './definition/reconciler.ts';
import { controller, type ControllerOptions } from './definition/controller-definition.ts';
import { on } from './definition/followed-kind.ts';
import type { KeySource } from './definition/key-source.ts';
import { createManager } from '../manager/manager.ts';
import { eventually } from '../testing/eventually.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { FakeClient } from './fake-client.test-support.ts';
import { Badge, Harness, Person, Team } from './harness.test-support.ts';

describe('a controller with mistakes in the code of its author', () => {
  let harness: Harness | undefined;
  const runs: string[] = [];

  const startWith = async (options: Partial<ControllerOptions<Person>>): Promise<Harness> => {
    const reconcile = ({ name }: { readonly name: string }): void => void runs.push(name);
    const at = new Harness({ controllers: [controller(Person, { reconcile, ...options })] });
    harness = at;
    await at.person('ada');
    await at.start();
    return at;
  };

  beforeEach(() => {
    runs.length = 0;
  });

  afterEach(async () => {
    await harness?.stop();
    expect(harness?.clock.pendingTimers ?? 0).to.equal(0);
    harness = undefined;
  });

  it('reports an invalid key that a mapping returns, and loses only the event of this key', async () => {
    const keys: unknown[] = [{ name: undefined }, 7, 'home/ada', ['ada']];
    const at = await startWith({ watches: [on(Team, () => [keys.shift() as string])] });
    const count = keys.length;
    for (let index = 0; index < count; index += 1) {
      await at.client.create(Team, { metadata: { name: `t${index}` }, spec: { text: '' } });
    }
    await at.idle();
    expect(at.lines('error')).to.have.length(count);
    for (const { fields } of at.lines('error')) expect(String(fields['err'])).to.contain('not a key of a Person');
    keys.push('ada');
    await at.client.create(Team, { metadata: { name: 'last' }, spec: { text: '' } });
    await at.idle();
    expect(runs).to.deep.equal(['ada', 'ada']);
  });

  it('calls reconcile for an event when a predicate throws', async () => {
    const predicate = (): boolean => {
      throw new Error('bad predicate');
    };
    const at = await startWith({ predicates: [predicate] });
    await at.change(Person, 'ada', { spec: { name: 'Ada' } });
    await at.idle();
    expect(runs).to.deep.equal(['ada', 'ada']);
    expect(at.lines('error')[0]?.fields).to.include({ controller: 'person', key: 'ada' });
  });

  it('fails a run that returns a value other than a result, with an error that contains the value', async () => {
    const answers: unknown[] = [true, 'later', 7];
    const at = await startWith({ reconcile: () => answers.shift() as ReconcileResult });
    await at.clock.advance(1000);
    expect(at.lines('error').map(({ fields }) => String(fields['err']))).to.deep.equal(
      ['true', 'later', '7'].map(
        (answer) => `TypeError: a reconciler returns nothing, or an object such as { after: "10m" }, not ${answer}`,
      ),
    );
  });

  it('fails a run whose result has an unknown key, with an error that suggests the right key', async () => {
    const results: object[] = [{ requeueAftr: '1m' }, { metadata: {} }];
    const at = await startWith({ reconcile: () => results.shift() });
    await at.clock.advance(1000);
    expect(at.lines('error').map(({ fields }) => String(fields['err']))).to.deep.equal([
      'TypeError: the result of a run has an unknown key "requeueAftr". Did you mean "requeueAfter"?',
      'TypeError: the result of a run has an unknown key "metadata". The keys are after, requeue, requeueAfter.',
    ]);
  });

  it('reconciles again after a run throws a value that is not an error, or an error whose message is not a text', async () => {
    const odd: unknown[] = [
      Object.create(null),
      Object.assign(new Error('replaced'), { message: { code: 7 } }),
      Symbol('odd'),
      undefined,
    ];
    const count = odd.length;
    const at = await startWith({
      reconcile({ name }) {
        runs.push(name);
        if (odd.length > 0) throw odd.shift();
      },
    });
    await at.clock.advance(1000);
    expect(runs).to.have.length(count + 1);
    expect(at.lines('error')).to.have.length(count);
  });
});

describe('a controller with a logger that fails', () => {
  /** Runs a controller that fails twice. Returns the warnings that the process emitted. */
  const warningsWith = async (fail: () => void): Promise<readonly string[]> => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', onWarning);
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    const [clock, client] = [new FakeClock(), new FakeClient()];
    let runs = 0;
    const reconcile = (): void => {
      runs += 1;
      if (runs < 3) throw new Error('boom');
    };
    const stop = new AbortController();
    const manager = createManager({ clock, client, logger, controllers: [controller(Person, { reconcile })] });
    const running = manager.run(stop.signal);
    await client.create<Person>(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
    await clock.runUntil(() => runs === 3);
    stop.abort();
    await running;
    await eventually(() => warnings.length > 0);
    process.off('warning', onWarning);
    return warnings;
  };
  const warned = ['the logger failed (disk full); lines of the log are lost'];

  it('continues to reconcile when the logger throws: no key stays locked, and no error is left unhandled', async () => {
    const fail = (): never => {
      throw new Error('disk full');
    };
    expect(await warningsWith(fail)).to.deep.equal(warned);
  });

  it('continues to reconcile when an asynchronous logger rejects, and leaves no rejection unhandled', async () => {
    expect(await warningsWith(() => Promise.reject(new Error('disk full')))).to.deep.equal(warned);
  });
});

describe('a controller with options for back-off and resync', () => {
  let harness: Harness | undefined;

  afterEach(async () => {
    await harness?.stop();
    harness = undefined;
  });

  it('backs off with the delays of its options, separately for each key', async () => {
    const failures: string[] = [];
    const at = new Harness({
      controllers: [
        controller(Person, {
          backoff: { baseMs: 50, maxMs: 100, perSecond: 2, burst: 2 },
          reconcile({ name }) {
            failures.push(`${name} ${at.clock.monotonicMs()}`);
            throw new Error('boom');
          },
        }),
      ],
    });
    harness = at;
    await at.person('ada');
    await at.person('bob');
    await at.start();
    await at.clock.advance(150);
    expect(failures).to.deep.equal(['ada 0', 'bob 0', 'ada 50', 'bob 50', 'ada 150', 'bob 150']);
  });

  it('reconciles every object again, with the reason resync, after each resync interval', async () => {
    const runs: string[] = [];
    const at = new Harness({
      controllers: [
        controller(Person, {
          owns: [Badge],
          resync: '10h',
          reconcile: ({ name, reasons }) => void runs.push(`${name} ${reasons.map(({ type }) => type).join()}`),
        }),
      ],
    });
    harness = at;
    await at.person('ada');
    await at.person('bob');
    await at.start();
    runs.length = 0;
    const informer = at.client.informer(Person);
    expect(informer.resyncPeriods).to.deep.equal([36_000_000]);
    expect(at.client.informer(Badge).resyncPeriods).to.deep.equal([undefined]);
    informer.resync();
    await at.idle();
    expect(runs).to.deep.equal(['ada resync', 'bob resync']);
  });

  it('reconciles a changed object before objects that a resync enqueued earlier', async () => {
    const runs: string[] = [];
    let isHeld = false;
    let release = (): void => {};
    const at = new Harness({
      controllers: [
        controller(Person, {
          concurrency: 1,
          resync: '10h',
          async reconcile({ name }) {
            runs.push(name);
            if (isHeld) await new Promise<void>((resolve) => (release = resolve));
          },
        }),
      ],
    });
    harness = at;
    for (const name of ['ada', 'bob', 'cyd']) await at.person(name);
    await at.start();
    runs.length = 0;
    isHeld = true;
    at.client.informer(Person).resync();
    await at.holds(() => runs.length === 1);
    await at.change(Person, 'cyd', { spec: { name: 'Cyd' } });
    await at.holds(() => at.manager.stateOf('person', 'cyd')?.reasons.length === 2);
    isHeld = false;
    release();
    await at.idle();
    expect(runs).to.deep.equal(['ada', 'cyd', 'bob']);
  });

  it('refuses invalid options, and names them', () => {
    const reconcile = (): void => {};
    expect(() => controller(Person, { reconcile, resync: 0 })).to.throw(RangeError, 'resync');
    expect(() => controller(Person, { reconcile, resync: 'often' })).to.throw(RangeError, 'often');
    expect(() => controller(Person, { reconcile, backoff: { baseMs: -1 } })).to.throw(RangeError, 'backoff.baseMs');
    const none = { name: 'x', keys: 'ada' } as unknown as KeySource;
    expect(() => controller(Person, { reconcile, sources: [none] })).to.throw(TypeError, 'sources[0]');
    expect(() => controller(Person, { reconcile, watches: [Team as never] })).to.throw(TypeError, 'watches[0]');
    const mapless = on(Team, undefined as never);
    expect(() => controller(Person, { reconcile, watches: [mapless] })).to.throw(TypeError, 'watches[0]');
    expect(() => controller(Person, { reconcile, predicates: ['spec' as never] })).to.throw(TypeError, 'predicates[0]');
    expect(() => controller(Person, { reconcile, timeoutMs: 0 })).to.throw(RangeError, 'timeoutMs');
  });
});
