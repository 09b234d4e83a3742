import { expect } from 'chai';
import fc from 'fast-check';
import { ApiError } from '../api/index.ts';
import { controller } from './definition/controller-definition.ts';
import { Badge, Harness, Person } from './harness.test-support.ts';

interface Act {
  readonly kind: 'rename' | 'make' | 'delete' | 'vandalise' | 'scribble' | 'lag' | 'wait';
  readonly name: string;
}

const names = ['ada', 'bob', 'eve'];
const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom('rename', 'make', 'delete', 'vandalise', 'scribble', 'lag', 'wait'),
  name: fc.constantFrom(...names),
});
/**
 * The fault of one request; on average, half of the requests have none. A case has a list of faults, one for each
 * request that is sent during a run, in order; after the last one, the list repeats.
 */
const fault = fc.constantFrom('none', 'none', 'none', 'conflict', 'error', 'slow');

/** One server, one controller that makes a badge for each person, and other clients that change the same objects. */
class World {
  readonly runningNow = new Set<string>();
  readonly revoked: string[] = [];
  twice = 0;
  readonly harness: Harness = new Harness({
    controllers: [
      controller(Person, {
        owns: [Badge],
        reconcile: ({ object, ensure, status }) =>
          this.#alone(object.metadata.name, async () => {
            await ensure(Badge, object.metadata.name, { spec: { text: object.spec.name } });
            await status({ greeting: `Hello ${object.spec.name}` });
          }),
        cleanup: ({ object, client }) =>
          this.#alone(object.metadata.name, async () => {
            await client.delete(Badge, object.metadata.name).catch(() => {});
            this.revoked.push(object.metadata.uid);
          }),
      }),
    ],
  });
  #changes = 0;

  meddleWithRequests(faults: readonly string[]): void {
    let next = 0;
    this.harness.client.intercept = async (line) => {
      const kind =
        this.runningNow.size === 0 || line.startsWith('create persons') ? 'none' : faults[next++ % faults.length];
      if (kind === 'slow') await new Promise((resolve) => setImmediate(resolve));
      if (kind === 'conflict') throw new ApiError('Conflict', 'injected');
      if (kind === 'error') throw new ApiError('ServiceUnavailable', 'injected');
    };
  }

  async act({ kind, name }: Act): Promise<void> {
    const { harness } = this;
    const text = `v${(this.#changes += 1)}`;
    const acts: Readonly<Record<Act['kind'], () => Promise<unknown>>> = {
      make: () => harness.person(name, { name: text }),
      rename: () => harness.change(Person, name, { spec: { name: text } }),
      delete: () => harness.delete(Person, name),
      vandalise: () => harness.change(Badge, name, { spec: { text: 'vandalised' } }),
      scribble: () => harness.change(Person, name, { status: { greeting: 'scribbled' } }),
      lag: async () => this.#holdForAWhile(),
      wait: () => harness.clock.advance(20),
    };
    // A write may be refused, because its object does not exist or exists already, or because a fault was injected.
    // Such a write has changed nothing.
    await acts[kind]().catch(() => {});
  }

  #holdForAWhile(): void {
    const { client } = this.harness;
    for (const informer of [client.informer(Person), client.informer(Badge)]) {
      informer.hold();
      this.harness.clock.setTimeout(() => informer.release(), 15);
    }
  }

  async #alone(name: string, run: () => Promise<void>): Promise<void> {
    if (this.runningNow.has(name)) this.twice += 1;
    this.runningNow.add(name);
    try {
      await run();
    } finally {
      this.runningNow.delete(name);
    }
  }
}

describe('a controller with faults in its requests', () => {
  for (const [numRuns, tier] of [
    [20, ''],
    [300, ' [slow]'],
  ] as const) {
    it(`reaches the wanted state, and never runs a key twice at the same time, with any faults${tier}`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(act, { minLength: 5, maxLength: 25 }),
          fc.array(fault, { minLength: 1, maxLength: 12 }),
          fc.constantFrom(0, 8),
          async (acts, faults, answerTurns) => {
            const world = new World();
            const { harness } = world;
            harness.client.answerTurns = answerTurns;
            for (const name of names) await harness.person(name);
            await harness.start();
            world.meddleWithRequests(faults);
            for (const each of acts) await world.act(each);
            harness.client.intercept = () => {};
            await harness.clock.advance(100_000);
            await harness.idle();
            expectConverged(world);
            await harness.stop();
            expect(harness.clock.pendingTimers).to.equal(0);
          },
        ),
        { numRuns },
      );
    });
  }
});

function expectConverged({ harness: { client }, twice }: World): void {
  expect(twice).to.equal(0);
  for (const name of names) {
    const person = client.peek(Person, name);
    if (person === undefined) continue;
    expect(person.metadata.deletionTimestamp, `${name} is held back`).to.equal(undefined);
    expect(person.status?.greeting).to.equal(`Hello ${person.spec.name}`);
    const badge = client.peek(Badge, name);
    expect(badge?.spec.text).to.equal(person.spec.name);
  }
}
