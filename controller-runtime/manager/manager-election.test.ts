import { expect } from 'chai';
import { ApiError, isFormerLeader } from '../api/index.ts';
import { controller } from '../controller/definition/controller-definition.ts';
import { Badge, Harness, Person } from '../controller/harness.test-support.ts';
import { Lease, type LeaseSpec } from '../kinds/kubernetes-kinds.ts';
import type { Runnable } from './runnable.ts';

const leaderElection = { name: 'lock', identity: 'me' };
const inDefault = { namespace: 'default' };

describe('a manager with leader election', () => {
  let harness: Harness | undefined;
  let events: string[];
  let ended: unknown;

  const harnessFor = (options: Partial<ConstructorParameters<typeof Harness>[0]> = {}): Harness => {
    const greeter = controller(Person, { name: 'greeter', reconcile: ({ name }) => void events.push(`run ${name}`) });
    harness = new Harness({ controllers: [greeter], leaderElection, ...options });
    return harness;
  };

  beforeEach(() => {
    events = [];
    ended = undefined;
  });

  afterEach(async () => {
    const stopping = harness?.stop().catch((error: unknown) => (ended = error));
    await harness?.clock.advance(60_000);
    await stopping;
    expect(harness?.clock.pendingTimers ?? 0).to.equal(0);
    harness = undefined;
  });

  const runnable = (name: string, needs?: Runnable['needs']): Runnable => ({
    name,
    ...(needs === undefined ? {} : { needs }),
    async run(signal) {
      events.push(`${name} starts`);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      events.push(`${name} stops`);
    },
  });
  const heldBy = (at: Harness, holderIdentity: string): Promise<Lease> =>
    at.client.create<Lease>(Lease, {
      metadata: { name: 'lock', ...inDefault },
      spec: { holderIdentity, leaseDurationSeconds: 15 },
    });
  const change = async (at: Harness, spec: LeaseSpec): Promise<void> => {
    const lease = await at.client.get<Lease>(Lease, 'lock', inDefault);
    await at.client.update<Lease>({ ...lease, spec: { ...lease.spec, ...spec } });
  };

  it('starts endpoints, caches, and then the parts that need caches; after its election, starts all other parts; stops in reverse order, and releases the lease last', async () => {
    const runnables = [runnable('collector', 'leadership'), runnable('endpoint'), runnable('page', 'caches')];
    const at = harnessFor({ runnables });
    at.client.intercept = (line) => {
      if (/leases|Lease/.test(line)) events.push(line.split(' ')[0] as string);
    };
    await at.person('ada');
    at.client.informer(Person).hold();
    at.startOnly();
    await at.holds(() => events.length === 1);
    expect(at.manager.readinessProblem()).to.equal('caches are not synced: people.example.com/v1alpha1/Person');
    at.client.informer(Person).release();
    await at.clock.runUntil(() => events.includes('run ada'));
    expect(at.manager.readinessProblem()).to.equal(undefined);
    await at.stop();
    const before = ['endpoint starts', 'page starts', 'get', 'create', 'collector starts', 'run ada'];
    expect(events).to.deep.equal([...before, 'collector stops', 'page stops', 'endpoint stops', 'get', 'update']);
    expect((await at.client.get<Lease>(Lease, 'lock', inDefault)).spec?.holderIdentity).to.equal('');
    expect(at.manager.readinessProblem()).to.equal('stopped');
  });

  it('is idle and ready, with synced caches, while another process leads, and starts its controllers when that process is silent', async () => {
    const at = harnessFor();
    await heldBy(at, 'other');
    await at.person('ada');
    at.startOnly();
    await at.idle();
    expect([at.manager.readinessProblem(), at.client.informer(Person).hasSynced()]).to.deep.equal([undefined, true]);
    at.manager.add(controller(Badge, { name: 'badges', reconcile() {} }));
    at.manager.add(controller(Badge, { name: 'leaves', reconcile: () => void events.push('never') }));
    await at.holds(() => at.client.informer(Badge).hasSynced());
    await at.manager.remove('leaves');
    await at.clock.advance(14_000);
    expect(events).to.deep.equal([]);
    // The wait between two attempts is random, so the test waits for the election itself.
    await at.clock.runUntil(() => events.length > 0);
    await at.idle();
    expect(events).to.deep.equal(['run ada']);
    expect(at.manager.controllers().map(({ name }) => name)).to.deep.equal(['greeter', 'badges']);
  });

  it('does not start a controller that is being removed at the time of its election', async () => {
    const at = harnessFor();
    await heldBy(at, 'other');
    await at.person('ada');
    at.startOnly();
    await at.idle();
    // The informer of the controller ends slowly, so that the manager wins the election while the removal of the
    // controller is still in progress.
    const informer = at.client.informer(Badge);
    const run = informer.run.bind(informer);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    informer.run = async (signal) => {
      await run(signal);
      await held;
    };
    at.manager.add(controller(Badge, { name: 'leaver', reconcile() {} }));
    await at.clock.advance(14_000);
    const removed = at.manager.remove('leaver');
    await at.clock.runUntil(() => events.includes('run ada'));
    release();
    await removed;
    expect(informer.runs).to.equal(1);
    expect(at.manager.controllers().map(({ name }) => name)).to.deep.equal(['greeter']);
  });

  it('that is stopped does not change the lease of another process', async () => {
    const at = harnessFor();
    await heldBy(at, 'other');
    at.startOnly();
    await at.idle();
    await at.stop();
    expect((await at.client.get<Lease>(Lease, 'lock', inDefault)).spec?.holderIdentity).to.equal('other');
  });

  it('rejects the promise of run when the lease is lost; runs under way are aborted, but the manager does not wait for them', async () => {
    const statuses: boolean[] = [];
    let wasAborted = false;
    const stuck = controller(Person, {
      reconcile: ({ signal }) => new Promise(() => signal.addEventListener('abort', () => (wasAborted = true))),
    });
    const at = harnessFor({
      controllers: [stuck],
      runnables: [runnable('endpoint')],
      leaderElection: { ...leaderElection, observe: ({ isLeader }) => void statuses.push(isLeader) },
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'processing'));
    await change(at, { holderIdentity: 'other', leaseTransitions: 1 });
    await at.clock.advance(2001);
    ended = await at.stop().catch((error: unknown) => error);
    expect(ended).to.satisfy(isFormerLeader);
    expect((ended as ApiError).message).to.contain('the lease "default/lock" is lost: other holds the lease');
    expect(wasAborted).to.equal(true);
    expect(events).to.deep.equal(['endpoint starts', 'endpoint stops']);
    expect(statuses).to.deep.equal([false, true, false]);
    expect((await at.client.get<Lease>(Lease, 'lock', inDefault)).spec?.holderIdentity).to.equal('other');
  });

  it('stops at the first write that the server refuses because the term is over, and sends no further write', async () => {
    const refused: unknown[] = [];
    const writer = controller(Person, {
      async reconcile({ client, name }) {
        for (const _ of [1, 2]) {
          await client
            .patch(Person, name, { type: 'merge', patch: { spec: { team: 'x' } } })
            .catch((error: unknown) => refused.push(error));
        }
      },
    });
    const at = harnessFor({ controllers: [writer] });
    at.client.intercept = (line) => {
      if (line.startsWith('patch'))
        throw new ApiError('Conflict', 'too late', { causes: [{ reason: 'FormerLeader', message: 'too late' }] });
    };
    await at.person('ada');
    at.startOnly();
    await at.holds(() => refused.length === 2);
    await at.clock.advance(1);
    ended = await at.stop().catch((error: unknown) => error);
    expect([...refused, ended].every(isFormerLeader)).to.equal(true);
    expect(at.client.requests.filter((line) => line.startsWith('patch'))).to.have.lengthOf(1);
  });

  it('continues when the callback "observe" of the election throws; its health check still reports a lease that it did not renew', async () => {
    const observe = (): void => {
      throw new Error('observer');
    };
    const at = harnessFor({ leaderElection: { ...leaderElection, observe } });
    expect(at.manager.readinessProblem()).to.equal('not started');
    at.startOnly();
    await at.idle();
    expect(at.manager.healthProblem()).to.equal(undefined);
    const atMs = at.clock.monotonicMs.bind(at.clock);
    at.clock.monotonicMs = () => atMs() + 15_001;
    expect(at.manager.healthProblem()).to.equal('the lease "default/lock" was neither renewed nor released');
    at.clock.monotonicMs = atMs;
    expect(at.lines('error').map(({ message }) => message)).to.deep.equal(
      new Array(2).fill('the callback "observe" of the election failed'),
    );
  });
});
