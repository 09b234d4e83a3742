import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { Contention, PriorityLevel } from './priority-level.ts';
import type { Flow, SeatLimits } from './priority-level.ts';

const open = { closed: false };

/** A priority level and its requests. Each request runs until the test ends it. */
class Bench {
  readonly clock = new FakeClock();
  readonly contention = new Contention(this.clock);
  readonly level: PriorityLevel;
  /** The running requests, in the order in which they got their seats. */
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

  /** Ends the request that has run for the longest time, and returns the identity that got its seat. */
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
  it('gives all seats to an identity that is alone, and queues its further requests', async () => {
    const bench = new Bench({ inAll: 4, ofOne: 3 }, { inAll: 8, ofOne: 8 });
    await bench.send('a', 20);
    expect([bench.names(), bench.level.queued]).to.deep.equal(['aaaaaaaa', 12]);
    expect(await bench.end()).to.equal('a');
  });

  it('gives the next free seats to an identity with fewer seats, even if another identity has sent 2,000 requests before', async () => {
    const bench = new Bench({ inAll: 4, ofOne: 3 });
    await bench.send('a', 2000);
    await bench.send('b', 4);
    // An identity may have three of the four seats, so b gets the fourth one immediately.
    expect(bench.names()).to.equal('aaab');
    expect(await bench.end()).to.equal('b');
    expect(bench.names()).to.equal('aabb');
  });

  it('shares seats equally while several identities have waiting requests', async () => {
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

  it('makes later requests wait behind a request that needs several seats, so that this request gets its seats', async () => {
    const bench = new Bench({ inAll: 4, ofOne: 4 });
    await bench.send('a', 4);
    await bench.send('b', 1, { cost: 3 });
    await bench.send('a', 10);
    expect(await bench.end()).to.equal(undefined);
    await bench.send('c', 1);
    expect(await bench.end()).to.equal(undefined);
    expect(await bench.end()).to.equal('b');
    expect(bench.names()).to.equal('ab');
    // The next seat is for a, which has waited longest among the identities without seats.
    expect(await bench.end()).to.equal('a');
  });

  it('applies the limits for several identities for 10 s after two consecutive requests of different identities', async () => {
    const bench = new Bench({ inAll: 2, ofOne: 1 }, { inAll: 8, ofOne: 8 });
    await bench.send('b', 1);
    await bench.send('a', 4);
    expect(bench.names()).to.equal('ba');
    await bench.clock.advance(10_000);
    await bench.end();
    expect(bench.names()).to.equal('aaaa');
  });

  it('refuses a request when the queue of its identity is full, and accepts requests of other identities', async () => {
    const bench = new Bench({ inAll: 2, ofOne: 1 });
    await bench.send('b', 1);
    await bench.send('a', 4098);
    expect(bench.refused).to.deep.equal(['a']);
    await bench.send('c', 1);
    expect(bench.refused).to.deep.equal(['a']);
    expect(bench.level.refused).to.equal(1);
  });

  it('refuses the last request of the longest queue when a new request arrives and all queues together are full', async () => {
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

  it('refuses a request that has waited for 15 s, and a request whose client has disconnected', async () => {
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

  it('has no seats in use and no queue after the requests of thousands of identities have ended', async () => {
    const bench = new Bench({ inAll: 4, ofOne: 4 });
    for (let index = 0; index < 2000; index += 1) {
      await bench.send(`user ${index}`, 1);
      await bench.end();
    }
    expect([bench.level.inUse, bench.level.queued]).to.deep.equal([0, 0]);
  });
});
