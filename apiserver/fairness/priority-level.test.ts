import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { Contention, PriorityLevel } from './priority-level.ts';
import type { Flow, SeatLimits } from './priority-level.ts';

const open = { closed: false };

/** A level with requests that run until the test ends them. */
class Bench {
  readonly clock = new FakeClock();
  readonly contention = new Contention(this.clock);
  readonly level: PriorityLevel;
  /** The identities of running requests, in the order in which they got their seats. */
  readonly running: { readonly flow: Flow; readonly cost: number }[] = [];
  readonly refused: string[] = [];

  constructor(shared: SeatLimits, alone: SeatLimits = shared) {
    this.level = new PriorityLevel({ name: 'test', shared, alone, contention: this.contention, clock: this.clock });
  }

  async send(identity: string, count: number, { cost = 1, reader = open } = {}): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      this.contention.note(identity);
      void this.#enter(identity, cost, reader);
    }
    await settled();
  }

  /** Ends the request that has run for longest, and returns the identity that got its seat. */
  async end(): Promise<string | undefined> {
    const ended = this.running.shift();
    const before = this.running.length;
    if (ended !== undefined) this.level.leave(ended.flow, ended.cost);
    await settled();
    return this.running[before]?.flow.identity;
  }

  names(): string {
    return this.running.map(({ flow }) => flow.identity).join('');
  }

  async #enter(identity: string, cost: number, reader: { readonly closed: boolean }): Promise<void> {
    try {
      this.running.push({ flow: await this.level.enter(identity, cost, reader), cost });
    } catch {
      this.refused.push(identity);
    }
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('a priority level', () => {
  it('gives all seats to the only identity, and then queues its requests', async () => {
    const bench = new Bench({ inAll: 4, ofOne: 3 }, { inAll: 8, ofOne: 8 });
    await bench.send('a', 20);
    expect([bench.names(), bench.level.queued]).to.deep.equal(['aaaaaaaa', 12]);
    expect(await bench.end()).to.equal('a');
  });

  it('gives the next free seats to an identity with fewer seats, even after another one sent 2,000 requests', async () => {
    const bench = new Bench({ inAll: 4, ofOne: 3 });
    await bench.send('a', 2000);
    await bench.send('b', 4);
    // An identity may have three of the four seats, so b gets the fourth at once.
    expect(bench.names()).to.equal('aaab');
    expect(await bench.end()).to.equal('b');
    expect(bench.names()).to.equal('aabb');
  });

  it('shares seats equally while several identities have enough to do', async () => {
    const bench = new Bench({ inAll: 6, ofOne: 4 });
    await bench.send('a', 100);
    await bench.send('b', 100);
    await bench.send('c', 100);
    const served = new Map<string, number>();
    for (let index = 0; index < 90; index += 1) {
      const identity = (await bench.end()) ?? '';
      served.set(identity, (served.get(identity) ?? 0) + 1);
    }
    for (const identity of ['a', 'b', 'c']) expect(served.get(identity), identity).to.be.within(28, 32);
  });

  it('makes later requests wait behind one that needs more seats, so that it is not starved', async () => {
    const bench = new Bench({ inAll: 4, ofOne: 4 });
    await bench.send('a', 4);
    await bench.send('b', 1, { cost: 3 });
    await bench.send('a', 10);
    expect(await bench.end()).to.equal(undefined);
    await bench.send('c', 1);
    expect(await bench.end()).to.equal(undefined);
    expect(await bench.end()).to.equal('b');
    expect(bench.names()).to.equal('ab');
    // Of the identities without seats, a has waited longest.
    expect(await bench.end()).to.equal('a');
  });

  it('continues to share for ten seconds after the last request of another identity', async () => {
    const bench = new Bench({ inAll: 2, ofOne: 1 }, { inAll: 8, ofOne: 8 });
    await bench.send('b', 1);
    await bench.send('a', 4);
    expect(bench.names()).to.equal('ba');
    await bench.clock.advance(10_000);
    await bench.end();
    expect(bench.names()).to.equal('aaaa');
  });

  it('refuses a request whose identity has a full queue, and accepts those of other identities', async () => {
    const bench = new Bench({ inAll: 2, ofOne: 1 });
    await bench.send('b', 1);
    await bench.send('a', 4098);
    expect(bench.refused).to.deep.equal(['a']);
    await bench.send('c', 1);
    expect(bench.refused).to.deep.equal(['a']);
    expect(bench.level.refused).to.equal(1);
  });

  it('makes room for a new request by dropping one from the longest queue when all queues together are full', async () => {
    const bench = new Bench({ inAll: 1, ofOne: 1 });
    await bench.send('x', 1);
    await bench.send('a', 4096);
    await bench.send('b', 4000);
    await bench.send('c', 1904);
    expect(bench.level.queued).to.equal(10_000);
    await bench.send('d', 2);
    expect(bench.refused).to.deep.equal(['a', 'a']);
    expect(await bench.end()).to.equal('a');
  });

  it('refuses a request that has waited for 15 s, and drops one whose client has disconnected', async () => {
    const bench = new Bench({ inAll: 1, ofOne: 1 });
    await bench.send('a', 2);
    await bench.send('b', 1, { reader: { closed: true } });
    await bench.clock.advance(1000);
    await settled();
    expect(bench.refused).to.deep.equal(['b']);
    await bench.clock.advance(15_000);
    await settled();
    expect(bench.refused).to.deep.equal(['b', 'a']);
    expect(bench.level.queued).to.equal(0);
  });

  it('keeps no memory of thousands of idle identities', async () => {
    const bench = new Bench({ inAll: 4, ofOne: 4 });
    for (let index = 0; index < 2000; index += 1) {
      await bench.send(`user ${index}`, 1);
      await bench.end();
    }
    expect([bench.level.inUse, bench.level.queued]).to.deep.equal([0, 0]);
  });
});
