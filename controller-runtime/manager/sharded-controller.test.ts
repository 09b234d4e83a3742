import { expect } from 'chai';
import { shardOf } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { createRecordingLogger } from '../client/recording-logger.fixture.ts';
import { controller, type ControllerOptions } from '../controller/definition/controller-definition.ts';
import { FakeClient } from '../controller/fake-client.test-support.ts';
import { Person } from '../controller/harness.test-support.ts';
import { Lease, type LeaseSpec } from '../kinds/kubernetes-kinds.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { createManager, type Manager } from './manager.ts';

const shards = 16;
const inDefault = { namespace: 'default' };

/** A process with a manager. All processes of a test use the same server. */
class TestProcess {
  readonly name: string;
  readonly manager: Manager;
  readonly logger = createRecordingLogger();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(name: string, client: Client, clock: FakeClock, options: ControllerOptions<Person>) {
    this.name = name;
    this.manager = createManager({
      client,
      clock,
      logger: this.logger,
      random: () => 0.5,
      controllers: [controller(Person, options)],
      leaderElection: { name: 'lock', identity: name },
    });
  }

  start(): this {
    this.#running = this.manager.run(this.#stop.signal).catch(() => undefined);
    return this;
  }

  get held(): readonly number[] {
    return this.manager.controllers()[0]?.shards?.held ?? [];
  }

  get errors(): readonly string[] {
    return this.logger.entries.filter(({ level }) => level === 'error').map(({ message }) => message);
  }

  async stop(clock: FakeClock): Promise<void> {
    this.#stop.abort();
    let isOver = this.#running === undefined;
    const ended = this.#running?.then(() => (isOver = true));
    await clock.runUntil(() => isOver);
    await ended;
  }
}

describe('sharded controllers:', () => {
  let client: FakeClient;
  let clock: FakeClock;
  let processes: TestProcess[];
  /** The runs in order, as `<process> <key>`. */
  let ran: string[];
  let running: Set<string>;
  let overlaps: string[];
  /** Processes whose requests get no response. */
  let silent: Set<string>;

  beforeEach(() => {
    client = new FakeClient();
    clock = new FakeClock();
    processes = [];
    ran = [];
    running = new Set();
    overlaps = [];
    silent = new Set();
  });

  afterEach(async () => {
    silent.clear();
    for (const process of processes) await process.stop(clock);
    expect(clock.pendingTimers).to.equal(0);
    expect(overlaps).to.deep.equal([]);
  });

  /** Makes the client of a process. The requests of a silent process get no response, but its caches continue. */
  const clientOf = (name: string): Client =>
    new Proxy(client, {
      get: (target, property) => {
        const method: unknown = Reflect.get(target, property);
        if (typeof method !== 'function') return method;
        return (...parameters: unknown[]): unknown => {
          if (silent.has(name) && property !== 'informer') return new Promise(() => undefined);
          return Reflect.apply(method, target, parameters) as unknown;
        };
      },
    });

  const start = (name: string, options: Partial<ControllerOptions<Person>> = {}): TestProcess => {
    const reconcile: ControllerOptions<Person>['reconcile'] = async ({ name: key }) => {
      if (running.has(key)) overlaps.push(key);
      running.add(key);
      ran.push(`${name} ${key}`);
      await new Promise((resolve) => setImmediate(resolve));
      running.delete(key);
    };
    const process = new TestProcess(name, clientOf(name), clock, { shards, reconcile, ...options });
    processes.push(process);
    return process.start();
  };

  const person = (name: string): Promise<Person> =>
    client.create<Person>(Person, { metadata: { name }, spec: { name } });
  const touch = async (name: string): Promise<void> => {
    const value = String(ran.length);
    await client.patch(Person, name, { type: 'merge', patch: { metadata: { labels: { touched: value } } } });
  };
  const areSpread = (...counts: readonly number[]): boolean => {
    const held = processes.flatMap((process) => process.held);
    const sizes = processes.map((process) => process.held.length).toSorted((a, b) => a - b);
    return new Set(held).size === shards && held.length === shards && sizes.join() === counts.join();
  };
  const names = Array.from({ length: 40 }, (_, index) => `person-${index}`);
  const lease = (index: number): Promise<Lease> => client.get<Lease>(Lease, `lock.person.${index}`, inDefault);
  const change = async (index: number, spec: LeaseSpec): Promise<void> => {
    const present = await lease(index);
    await client.update<Lease>({ ...present, spec: { ...present.spec, ...spec } });
  };
  const ownerOf = (name: string): string | undefined =>
    processes.find(({ held }) => held.includes(shardOf(name, shards)))?.name;

  it('a single process has all shards, and reconciles each key once', async () => {
    for (const name of names) await person(name);
    start('a');
    await clock.runUntil(() => areSpread(16) && processes[0]?.manager.isIdle() === true);
    expect(ran.toSorted()).to.deep.equal(names.map((name) => `a ${name}`).toSorted());
    expect((await lease(3)).spec).to.include({ holderIdentity: 'a', strategy: 'shards.homeostat.internal/16' });
    expect(processes[0]?.manager.metrics()).to.contain('controller_runtime_shards_held{controller="person"} 16');
    await touch('person-7');
    await clock.runUntil(() => processes[0]?.manager.runs('person', { key: 'person-7' }).length === 2);
    expect(ran).to.have.lengthOf(41);
  });

  it('the shards are spread evenly over processes that start, and each key belongs to exactly one process', async () => {
    for (const name of names) await person(name);
    start('a');
    await clock.runUntil(() => areSpread(16));
    start('b');
    await clock.runUntil(() => areSpread(8, 8));
    start('c');
    await clock.runUntil(() => areSpread(5, 5, 6));
    await clock.runUntil(() => processes.every(({ manager }) => manager.isIdle()));
    ran = [];
    for (const name of names) await touch(name);
    await clock.runUntil(() => ran.length >= names.length);
    expect(ran.toSorted()).to.deep.equal(names.map((name) => `${ownerOf(name)} ${name}`).toSorted());
    // Once the shards are balanced, none of them moves.
    const before = processes.map(({ held }) => held);
    await clock.advance(60_000);
    expect(processes.map(({ held }) => held)).to.deep.equal(before);
  });

  it('when a process stops, others take its shards within two seconds, and reconcile the keys again', async () => {
    for (const name of names) await person(name);
    for (const name of ['a', 'b']) start(name);
    await clock.runUntil(() => areSpread(8, 8) && processes.every(({ manager }) => manager.isIdle()));
    const left = names.filter((name) => ownerOf(name) === 'b');
    ran = [];
    await processes.pop()?.stop(clock);
    const sinceMs = clock.monotonicMs();
    await clock.runUntil(() => areSpread(16) && ran.length >= left.length);
    expect(clock.monotonicMs() - sinceMs).to.be.at.most(2000);
    expect(ran.toSorted()).to.deep.equal(left.map((name) => `a ${name}`).toSorted());
  });

  it('a process whose requests hang gives up its shards, and others have them within the lease duration and one retry', async () => {
    for (const name of names) await person(name);
    for (const name of ['a', 'b', 'c']) start(name);
    await clock.runUntil(() => areSpread(5, 5, 6) && processes.every(({ manager }) => manager.isIdle()));
    const [a, b, c] = processes;
    const left = names.filter((name) => ownerOf(name) === 'c');
    silent.add('c');
    ran = [];
    const sinceMs = clock.monotonicMs();
    await clock.runUntil(() => (a?.held.length ?? 0) + (b?.held.length ?? 0) === shards && ran.length >= left.length);
    expect(clock.monotonicMs() - sinceMs).to.be.within(13_000, 17_000);
    expect(ran.map((run) => run.split(' ')[1]).toSorted()).to.deep.equal(left.toSorted());
    // Process c, whose requests get no response, has given up all its shards by now.
    expect(c?.held).to.deep.equal([]);
    expect(c?.errors).to.include('the lease of a shard is lost');
    silent.delete('c');
    await clock.runUntil(() => areSpread(5, 5, 6));
  });

  it('a shard stays in its process while one of its runs is under way, even if another process requests the shard', async () => {
    let release = (): void => {};
    let wasTold = false;
    const held = new Promise<void>((resolve) => (release = resolve));
    for (const name of names) await person(name);
    start('a', {
      async reconcile({ name, signal }) {
        if (name !== 'person-0') return;
        signal.addEventListener('abort', () => (wasTold = true));
        await held;
      },
    });
    await clock.runUntil(() => processes[0]?.held.length === 16);
    const index = shardOf('person-0', shards);
    const b = start('b');
    // Process b might request other shards first, so the test itself requests the busy shard for b.
    await clock.runUntil(() => b.held.length > 0);
    await change(index, { preferredHolder: 'b' });
    await clock.runUntil(() => wasTold);
    await clock.advance(90_000);
    expect((await lease(index)).spec?.holderIdentity).to.equal('a');
    expect(ran).not.to.include('b person-0');
    release();
    await clock.runUntil(() => ran.includes('b person-0'));
  });

  it('a running process takes a shard if the process that requested the shard does not take it', async () => {
    start('a');
    await clock.runUntil(() => areSpread(16));
    await change(5, { preferredHolder: 'dead' });
    await clock.runUntil(() => processes[0]?.held.length === 15);
    await clock.runUntil(() => areSpread(16));
    expect((await lease(5)).spec).not.to.have.property('preferredHolder');
  });

  it('a process waits while processes with another number of shards run', async () => {
    for (const name of names) await person(name);
    const a = start('a');
    await clock.runUntil(() => areSpread(16));
    const b = start('b', { shards: 8 });
    await clock.advance(60_000);
    expect([a.held.length, b.held.length]).to.deep.equal([16, 0]);
    expect(b.errors).to.deep.equal(['other processes use another number of shards: waiting until they stop']);
    ran = [];
    await a.stop(clock);
    processes.splice(processes.indexOf(a), 1);
    await clock.runUntil(() => b.held.length === 8 && ran.length >= names.length);
    expect((await lease(3)).spec?.strategy).to.equal('shards.homeostat.internal/8');
  });

  it('a manager without an election runs all shards without leases', async () => {
    await person('ada');
    const manager = createManager({
      client,
      clock,
      controllers: [controller(Person, { shards, reconcile: ({ name }) => void ran.push(name) })],
    });
    const stop = new AbortController();
    const done = manager.run(stop.signal);
    await clock.runUntil(() => ran.length === 1);
    expect(client.requests.filter((line) => line.includes('lease'))).to.deep.equal([]);
    stop.abort();
    await done;
  });

  it('a sharded controller is refused when the names of its leases are too long', () => {
    const leaderElection = { name: Array.from({ length: 4 }, () => 'x'.repeat(62)).join('.') };
    const controllers = [controller(Person, { shards, reconcile() {} })];
    expect(() => createManager({ client, clock, controllers, leaderElection })).to.throw(
      RangeError,
      'controller "person": the lease of a shard cannot be named',
    );
  });
});
