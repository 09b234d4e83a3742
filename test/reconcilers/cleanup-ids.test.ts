import { controller, isNotFound } from 'homeostat';
import { eventually } from 'homeostat/testing';
import { expect } from 'chai';
import { runControllers, transports } from './both-clients.ts';
import type { Running, Transport } from './both-clients.ts';
import { Machine } from './effect-models.ts';

const namespace = 'default';

interface CleanedUp {
  readonly at: Running;
  /** The id in the status at each cleanup. */
  readonly seen: (string | undefined)[];
  /** Resolves when a cleanup has begun. The cleanup then waits for a call of `open`. */
  readonly begun: Promise<void>;
  readonly open: () => void;
}

/**
 * Runs a controller that reads the id in the status during its cleanup. If `id` is given, `reconcile` stores this id in
 * the status.
 */
async function runMachine(transport: Transport, id?: string): Promise<CleanedUp> {
  const seen: (string | undefined)[] = [];
  const [begun, opened] = [gate(), gate()];
  const machines = controller(Machine, {
    reconcile: async ({ object, status }) => {
      if (id !== undefined && object.status?.id === undefined) await status({ id });
    },
    cleanup: async ({ object }) => {
      begun.open();
      await opened.promise;
      seen.push(object.status?.id);
    },
  });
  const at = await runControllers(transport, {
    models: [Machine],
    controllers: [machines],
    before: (client) => client.create(Machine, { metadata: { name: 'a', namespace }, spec: {} }),
  });
  return { at, seen, begun: begun.promise, open: opened.open };
}

function gate(): { readonly promise: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, open: () => open() };
}

const isGone = async ({ client }: Running): Promise<boolean> =>
  client.get(Machine, 'a', { namespace }).then(() => false, isNotFound);

/** Stores an id in the status, like a late write of a former leader. */
const storeId = ({ client }: Running, id: string): Promise<unknown> =>
  client.patch(Machine, 'a', { type: 'merge', patch: { status: { id } } }, { subresource: 'status', namespace });

for (const transport of transports) {
  describe(`an id in the status, ${transport}`, () => {
    it('is in the object that the cleanup receives when the object is deleted after the id was stored', async () => {
      const { at, seen, open } = await runMachine(transport, 'vm-1');
      await at.settle();
      const letGo = at.faulty.holdEvents();
      open();
      await at.client.delete(Machine, 'a', { namespace });
      letGo();
      await eventually(() => isGone(at));
      expect(seen).to.deep.equal(['vm-1']);
      await at.stop();
    });

    it('is in the object that the cleanup receives after a restart of the controller', async () => {
      const { at, seen, open } = await runMachine(transport, 'vm-1');
      await at.settle();
      await at.pause();
      await at.client.delete(Machine, 'a', { namespace });
      open();
      await at.restart();
      await eventually(() => isGone(at));
      expect(seen).to.deep.equal(['vm-1']);
      await at.stop();
    });

    it('causes another cleanup when it is stored during a cleanup', async () => {
      const { at, seen, begun, open } = await runMachine(transport);
      await at.settle();
      await at.client.delete(Machine, 'a', { namespace });
      await begun;
      await storeId(at, 'vm-2');
      open();
      await eventually(() => isGone(at));
      expect(seen).to.deep.equal([undefined, 'vm-2']);
      await at.stop();
    });

    it('causes another cleanup when the cache receives the id only after the first cleanup', async () => {
      const { at, seen, begun, open } = await runMachine(transport);
      await at.settle();
      await at.client.delete(Machine, 'a', { namespace });
      await begun;
      const letGo = at.faulty.holdEvents();
      await storeId(at, 'vm-3');
      open();
      await eventually(() => seen.length === 1);
      letGo();
      await eventually(async () => {
        await at.clock.advance(1000);
        return isGone(at);
      });
      expect(seen).to.deep.equal([undefined, 'vm-3']);
      await at.stop();
    });
  });
}
