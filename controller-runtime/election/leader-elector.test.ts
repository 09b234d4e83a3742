import { expect } from 'chai';
import { ApiError, isFormerLeader } from '../api/index.ts';
import { createRecordingLogger } from '../client/recording-logger.fixture.ts';
import { FakeClient } from '../controller/fake-client.test-support.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { electionSettings, type LeaderElectionOptions } from './election-options.ts';
import { LeaderElector } from './leader-elector.ts';
import { Lease, type LeaseSpec } from '../kinds/kubernetes-kinds.ts';
import type { Term } from './term.ts';

describe('a leader elector', () => {
  let client: FakeClient;
  let clock: FakeClock;
  let logger: ReturnType<typeof createRecordingLogger>;
  let stops: AbortController[];
  let holding: Promise<void>[];

  beforeEach(() => {
    client = new FakeClient();
    clock = new FakeClock();
    logger = createRecordingLogger();
    stops = [];
    holding = [];
  });

  afterEach(async () => {
    for (const stop of stops) stop.abort();
    await clock.advance(60_000);
    await Promise.all(holding);
    expect(clock.pendingTimers).to.equal(0);
  });

  const candidate = (identity: string, options: Partial<LeaderElectionOptions> = {}, on = clock): LeaderElector => {
    const settings = electionSettings({ name: 'lock', identity, ...options }, () => 'uuid');
    return new LeaderElector(settings, { client, clock: on, logger, random: () => 0.5 });
  };

  /** Returns a signal that aborts at the end of the test. */
  const signal = (): AbortSignal => {
    const stop = new AbortController();
    stops.push(stop);
    return stop.signal;
  };

  const elect = async (elector: LeaderElector): Promise<Term> => {
    const term = await elector.acquire(signal());
    if (term === undefined) throw new Error('not elected');
    return term;
  };

  const hold = (elector: LeaderElector, term: Term): void => {
    holding.push(elector.hold(term, signal()));
  };

  /** Starts a candidate. The returned object gets the term once the candidate is elected. */
  const standBy = (elector: LeaderElector): { term: Term | undefined } => {
    const result: { term: Term | undefined } = { term: undefined };
    holding.push(elector.acquire(signal()).then((term) => void (result.term = term)));
    return result;
  };

  const spec = async (): Promise<LeaseSpec> => (await client.get<Lease>(Lease, 'lock', inDefault)).spec ?? {};
  const inDefault = { namespace: 'default' };
  const writeSpec = async (changes: LeaseSpec): Promise<void> => {
    const lease = await client.get<Lease>(Lease, 'lock', inDefault);
    await client.update<Lease>({ ...lease, spec: { ...lease.spec, ...changes } });
  };
  const makeLease = (held: LeaseSpec): Promise<Lease> =>
    client.create<Lease>(Lease, { metadata: { name: 'lock', namespace: 'default' }, spec: held });

  it('creates the lease when it does not exist, and renews it every retry period', async () => {
    const a = candidate('a');
    const term = await elect(a);
    expect(term.epoch).to.include({ namespace: 'default', name: 'lock', transitions: 0 });
    const time = '2030-01-01T00:00:00.000000Z';
    const first = {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 0,
    };
    expect(await spec()).to.deep.equal(first);
    hold(a, term);
    await clock.advance(20_500);
    expect(await spec()).to.deep.equal({ ...first, renewTime: '2030-01-01T00:00:20.000000Z' });
    expect(term.signal.aborted).to.equal(false);
  });

  for (const renewTime of ['1970-01-01T00:00:00.000000Z', '2999-01-01T00:00:00.000000Z']) {
    it(`waits for the lease's duration by its own clock, although the renewTime in the lease is ${renewTime}`, async () => {
      await makeLease({ holderIdentity: 'gone', leaseDurationSeconds: 30, renewTime, leaseTransitions: 4 });
      const b = standBy(candidate('b'));
      await clock.advance(29_900);
      expect(b.term).to.equal(undefined);
      await clock.advance(4000);
      expect(b.term?.epoch.transitions).to.equal(5);
      expect(await spec()).to.include({ holderIdentity: 'b', leaseTransitions: 5 });
    });
  }

  it('retries after a random time of one to 2.2 retry periods', async () => {
    await makeLease({ holderIdentity: 'gone', leaseDurationSeconds: 30, leaseTransitions: 4 });
    const tries: number[] = [];
    client.intercept = () => void tries.push(clock.monotonicMs());
    const answers = [0, 0.5, 1];
    const settings = electionSettings({ name: 'lock', identity: 'b' }, () => 'uuid');
    const random = (): number => answers.shift() ?? 1;
    holding.push(
      new LeaderElector(settings, { client, clock, logger, random }).acquire(signal()).then(() => undefined),
    );
    await clock.advance(10_000);
    expect(tries).to.deep.equal([0, 2000, 5200, 9600]);
  });

  it('waits while the holder renews the lease, but does not wait longer when only other fields of the lease change', async () => {
    const a = candidate('a');
    hold(a, await elect(a));
    const b = standBy(candidate('b'));
    await clock.advance(120_000);
    expect(b.term).to.equal(undefined);
    stops[1]?.abort();
    for (let second = 0; second < 20; second += 1) {
      await client.patch(
        Lease,
        'lock',
        { type: 'merge', patch: { metadata: { labels: { x: `${second}` } } } },
        inDefault,
      );
      await clock.advance(1000);
    }
    expect(b.term?.epoch.transitions).to.equal(1);
  });

  it('begins a new term when a former process with the same identity held the lease', async () => {
    const before = await elect(candidate('a'));
    const stillThere = candidate('a');
    const again = await elect(stillThere);
    expect(again.epoch.uid).to.equal(before.epoch.uid);
    expect([before.epoch.transitions, again.epoch.transitions]).to.deep.equal([0, 1]);
    hold(stillThere, again);
    await clock.advance(20_000);
    expect(await spec()).to.include({ holderIdentity: 'a', leaseTransitions: 1 });
    expect(again.signal.aborted).to.equal(false);
  });

  it('ends the term of one process when another process with the same identity takes the lease', async () => {
    const a = candidate('a');
    const term = await elect(a);
    hold(a, term);
    await elect(candidate('a'));
    await clock.advance(5000);
    expect(() => term.check()).to.throw('another process held the lease in the meantime');
  });

  it('lets only one of two candidates take a lease that has expired', async () => {
    await makeLease({ holderIdentity: 'gone', leaseDurationSeconds: 1 });
    const both = [standBy(candidate('a')), standBy(candidate('b'))];
    await clock.advance(10_000);
    expect(both.filter(({ term }) => term !== undefined)).to.have.lengthOf(1);
  });

  it('ends its term when it could not renew the lease within the deadline, before another process may take over', async () => {
    const a = candidate('a');
    const term = await elect(a);
    hold(a, term);
    await clock.advance(4000);
    client.intercept = () => {
      throw new ApiError('ServiceUnavailable', 'down');
    };
    await clock.advance(9900);
    expect(term.signal.aborted).to.equal(false);
    await clock.advance(100);
    expect(term.signal.reason).to.satisfy(isFormerLeader);
    expect(() => term.check()).to.throw('not renewed within 10000 ms');
  });

  it('logs a warning for an error that keeps it from getting the lease, but not when another candidate was faster', async () => {
    const errors = [
      new ApiError('Forbidden', 'no'),
      new ApiError('AlreadyExists', 'faster'),
      new ApiError('Conflict', 'faster'),
    ];
    client.intercept = () => {
      const error = errors.shift();
      if (error !== undefined) throw error;
    };
    const a = standBy(candidate('a'));
    await clock.advance(20_000);
    expect(a.term).not.to.equal(undefined);
    const levels = logger.entries.map(({ level, fields }) => [level, (fields['err'] as ApiError).reason]);
    expect(levels).to.deep.equal([
      ['warn', 'Forbidden'],
      ['debug', 'AlreadyExists'],
      ['debug', 'Conflict'],
    ]);
  });

  it('ends its term at the deadline when a request hangs, and ignores the late response', async () => {
    const a = candidate('a');
    const term = await elect(a);
    hold(a, term);
    let answer = (): void => {};
    client.intercept = () => new Promise((resolve) => (answer = resolve));
    await clock.advance(10_000);
    expect(term.signal.aborted).to.equal(true);
    client.intercept = () => {};
    const renewed = await spec();
    answer();
    await clock.advance(1);
    expect(await spec()).to.include({ holderIdentity: 'a', leaseTransitions: renewed.leaseTransitions });
  });

  it('ends its term without another attempt after the process was suspended for longer than the deadline', async () => {
    const own = new FakeClock();
    const a = candidate('a', {}, own);
    const term = await elect(a);
    hold(a, term);
    const requests = client.requests.length;
    // A minute passes at once, as for a process that was suspended.
    const frozen = own.monotonicMs.bind(own);
    own.monotonicMs = () => frozen() + 60_000;
    expect(a.isOverdue).to.equal(true);
    await own.advance(2000);
    expect(term.signal.aborted).to.equal(true);
    expect(a.isOverdue).to.equal(false);
    expect(client.requests).to.have.lengthOf(requests);
  });

  it('ends its term when another process holds the lease or has held it since the last renewal, or when the lease is deleted', async () => {
    const disturb: (() => Promise<unknown>)[] = [
      () => writeSpec({ holderIdentity: 'b', leaseTransitions: 1 }),
      () => client.delete(Lease, 'lock', inDefault),
      () => writeSpec({ leaseTransitions: 7 }),
    ];
    for (const each of disturb) {
      const a = candidate('a');
      const term = await elect(a);
      hold(a, term);
      await each();
      await clock.advance(2000);
      expect(term.signal.reason).to.satisfy(isFormerLeader);
      await client.delete(Lease, 'lock', inDefault).catch(() => undefined);
    }
  });

  it('ends its term when its lease was taken and released by another process, and leaves the lease to a waiting candidate', async () => {
    const a = candidate('a');
    const term = await elect(a);
    hold(a, term);
    await writeSpec({ holderIdentity: '', leaseDurationSeconds: 1 });
    await clock.advance(2000);
    expect(term.signal.reason).to.satisfy(isFormerLeader);
    expect(await spec()).to.include({ holderIdentity: '', leaseTransitions: 0 });
    const b = standBy(candidate('b'));
    await clock.advance(1);
    expect(b.term?.epoch.transitions).to.equal(1);
  });

  it('keeps its term when the response to a renewal is lost', async () => {
    const a = candidate('a');
    const term = await elect(a);
    hold(a, term);
    client.intercept = async (line) => {
      if (!line.startsWith('update')) return;
      client.intercept = () => {};
      await writeSpec({ renewTime: '2030-01-01T00:00:01.000000Z' });
      throw new ApiError('Timeout', 'no answer');
    };
    await clock.advance(30_000);
    expect(term.signal.aborted).to.equal(false);
    expect(await spec()).to.include({ leaseTransitions: 0, renewTime: '2030-01-01T00:00:30.000000Z' });
  });

  it('releases the lease to a waiting candidate, which begins a new term', async () => {
    const a = candidate('a');
    const term = await elect(a);
    const b = standBy(candidate('b'));
    await clock.advance(1);
    await a.release();
    expect(await spec()).to.include({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 });
    expect(term.signal.aborted).to.equal(true);
    await clock.advance(4400);
    expect(b.term?.epoch).to.deep.equal({ ...term.epoch, transitions: 1 });
  });

  it('does not release a lease that another process holds; release() ends by the renew deadline when the server does not respond', async () => {
    const a = candidate('a');
    await elect(a);
    await writeSpec({ holderIdentity: 'b', leaseTransitions: 1 });
    await a.release();
    expect(await spec()).to.include({ holderIdentity: 'b' });
    const c = candidate('c', { name: 'other' });
    await elect(c);
    client.intercept = () => new Promise(() => {});
    const releasing = c.release();
    await clock.advance(10_000);
    await releasing;
  });

  it('is not elected after its signal has aborted', async () => {
    await makeLease({ holderIdentity: 'other', leaseDurationSeconds: 1 });
    const stop = new AbortController();
    const electing = candidate('a').acquire(stop.signal);
    await clock.advance(100);
    stop.abort();
    expect(await electing).to.equal(undefined);
    await clock.advance(60_000);
    expect(await spec()).to.include({ holderIdentity: 'other' });
  });

  it('refuses options that cannot work, and names them', () => {
    const wrong: [Partial<LeaderElectionOptions>, string][] = [
      [{ leaseDurationMs: '10s' }, 'leaderElection.leaseDurationMs: must be more than renewDeadlineMs'],
      [{ leaseDurationMs: 15_500 }, 'leaderElection.leaseDurationMs: must be whole seconds'],
      [{ leaseDurationMs: '25h' }, 'leaderElection.leaseDurationMs: must be whole seconds'],
      [{ leaseDurationMs: 'soon' }, 'leaderElection.leaseDurationMs: "soon" is not a duration'],
      [{ renewDeadlineMs: 2400 }, 'leaderElection.renewDeadlineMs: must be more than 1.2 times retryPeriodMs'],
      [{ retryPeriodMs: 0 }, 'leaderElection.retryPeriodMs: must be above 0'],
      [{ name: 'No Name' }, 'leaderElection.name: "No Name" is not a DNS subdomain'],
      [{ namespace: 'a.b' }, 'leaderElection.namespace: "a.b" is not a DNS label'],
      [{ identity: '' }, 'leaderElection.identity: must have 1 to 253 characters'],
    ];
    for (const [options, message] of wrong)
      expect(() => candidate('a', options), message).to.throw(RangeError, message);
    expect(() => candidate('a', { leaseDurationMs: '3s', renewDeadlineMs: '2s', retryPeriodMs: '1s' })).not.to.throw();
  });
});
