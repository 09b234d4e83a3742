import { expect } from 'chai';
import type { InformerOptions } from '@homeostat/controller-runtime';
import { eventually, seededRandom } from '@homeostat/controller-runtime/testing';
import { pick } from './support/writes/random.ts';
import { FaultyNetwork } from './support/network/faulty-network.ts';
import type { Followed } from './support/network/faulty-network.ts';
import { newMachine, machine } from './support/models/models.ts';
import { writeAtRandom } from './support/writes/random-writes.ts';

const tooManyRequests = 'HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

/** A history of about twenty changes. An informer that misses more has to list again. */
const shortHistory = { retention: { maxBytes: 8_000 } };

type Fault = (network: FaultyNetwork, random: () => number) => void;

/** A function for each fault, which starts the fault. `up` and `listen` of the proxy end every fault. */
const faults: Readonly<Record<string, Fault>> = {
  'a cut in the middle of a line': ({ proxy }, random) => proxy.cutAfter(Math.ceil(random() * 2_000)),
  'silence without an end': ({ proxy }) => proxy.deaden(),
  'a delay': ({ proxy }) => proxy.stall(),
  'broken connections': ({ proxy }) => proxy.down(),
  'refused connections': ({ proxy }) => proxy.refuse(),
  '429 for an answer': ({ proxy }) => proxy.answer(tooManyRequests),
};

describe('an informer over a network that fails', () => {
  let network: FaultyNetwork;

  afterEach(() => network.stop());

  const create = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) await network.server.client.create(machine, newMachine(name) as never);
  };

  const endFault = async (): Promise<void> => {
    network.proxy.up();
    await network.proxy.listen();
  };

  describe('while the server keeps enough history', () => {
    let followed: Followed;

    beforeEach(async () => {
      network = await FaultyNetwork.start();
      await create('a');
      followed = network.follow();
      await network.converge(followed);
      // After this event, the watch is open, so that a fault can break it.
      await create('b');
      await network.converge(followed);
    });

    for (const [name, begin] of Object.entries(faults)) {
      it(`continues after ${name}, without another list`, async () => {
        const { lists } = network.requests;
        begin(network, () => 0.1);
        await create('c', 'd');
        await network.server.client.delete(machine, 'a');
        await create('e');
        await endFault();
        await network.converge(followed);
        expect(network.requests.lists).to.equal(lists);
        expect(followed.replayed.calls.slice(2).map((call) => call.replace(/@.*/, ''))).to.deep.equal([
          'add c',
          'add d',
          'delete a',
          'add e',
        ]);
      });
    }

    it('opens another watch when a watch is silent, even if the connection stays open', async () => {
      const { watches } = network.requests;
      network.proxy.deaden();
      await eventually(() => network.requests.watches > watches);
      await create('c');
      await network.converge(followed);
    });

    it('tries again while connections are refused, and then continues without another list', async () => {
      const { lists, watches } = network.requests;
      network.proxy.refuse();
      await eventually(() => network.requests.watches >= watches + 4);
      await create('c');
      await network.proxy.listen();
      await network.converge(followed);
      expect(network.requests.lists).to.equal(lists);
    });
  });

  describe('for longer than the server keeps history', () => {
    beforeEach(async () => {
      network = await FaultyNetwork.start(shortHistory);
    });

    it('lists again, and calls handlers for added, changed and deleted objects', async () => {
      await create('kept', 'changed', 'deleted', 'replaced');
      const followed = network.follow();
      await network.converge(followed);
      const { lists } = network.requests;
      const last = followed.informer.get({ name: 'deleted' });
      const deleted: unknown[] = [];
      followed.informer.addHandler({ onDelete: (object) => void deleted.push(object) });
      network.proxy.refuse();
      const { client } = network.server;
      for (const name of ['deleted', 'replaced']) await client.delete(machine, name);
      await create('added', 'replaced');
      for (let power = 0; power < 60; power += 1) {
        await client.patch(machine, 'changed', { type: 'merge', patch: { spec: { power } } });
      }
      await network.proxy.listen();
      await network.converge(followed);
      expect(network.requests.lists).to.equal(lists + 1);
      const calls = followed.replayed.calls.slice(4).map((call) => call.replace(/@.*/, ''));
      expect(calls).to.have.members([
        'update changed',
        'add added',
        'delete replaced',
        'add replaced',
        'delete deleted',
      ]);
      expect(deleted).to.include(last);
    });

    for (const seed of [1, 2, 3, 4]) {
      it(`has the server’s objects after random faults, and its handlers have received the same objects (seed ${seed}) [slow]`, async () => {
        const random = seededRandom(seed);
        const selections: readonly InformerOptions[] = [{}, { labelSelector: 'colour=red' }, { metadataOnly: true }];
        const followed = selections.map((selection) => network.follow(selection));
        const { client } = network.server;
        for (let round = 0; round < 12; round += 1) {
          const begin = faults[pick(random, Object.keys(faults))] as Fault;
          begin(network, random);
          await writeAtRandom(client, random, random() * 40);
          await endFault();
          await writeAtRandom(client, random, random() * 10);
          if (random() < 0.3) await Promise.all(followed.map((each) => network.converge(each)));
        }
        await Promise.all(followed.map((each) => network.converge(each)));
        expect(followed.every(({ replayed }) => replayed.calls.length > 0)).to.equal(true);
        expect(network.requests.lists).to.be.greaterThan(followed.length);
      });
    }
  });
});
