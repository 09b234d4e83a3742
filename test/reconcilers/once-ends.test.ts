import { externalEffectModel } from '@homeostat/controller-runtime/api';
import { createManager } from '@homeostat/controller-runtime';
import { controller, defineModel } from 'homeostat';
import type { Client, FromModel, ReconcileContext } from 'homeostat';
import { eventually, FakeClock, startTestServer } from 'homeostat/testing';
import { isFormerLeader } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { runControllers, transports } from './both-clients.ts';
import { Machine } from './effect-models.ts';
import { FakeProvider } from './fake-provider.ts';

type MachineRun = ReconcileContext<FromModel<typeof Machine>>;

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
const Namespace = defineModel({ gvk: 'v1/Namespace', plural: 'namespaces', schema: anything });
const Lease = defineModel({
  gvk: 'coordination.k8s.io/v1/Lease',
  plural: 'leases',
  scope: 'Namespaced',
  schema: anything,
});

/** Returns a promise, and the function that resolves it. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

const create = (provider: FakeProvider, run: MachineRun): Promise<unknown> =>
  run.once('create', ({ key }) => provider.create(key, run.name), { find: ({ key }) => provider.find(key) });

for (const transport of transports) {
  describe(`external effects when a namespace is deleted, ${transport}`, () => {
    it('return their recorded results in the cleanup of an object, because the records are deleted last', async () => {
      const provider = new FakeProvider();
      const last: unknown[] = [];
      const ready = gate();
      const at = await runControllers(transport, {
        models: [Machine],
        controllers: [
          controller(Machine, {
            reconcile: async (run) => void (await create(provider, run)),
            cleanup: async ({ once }) => {
              // The test opens this gate only after the deletion of the namespace has marked the machine as deleted.
              await ready.opened;
              last.push(await once.last('create', { find: ({ key }) => provider.find(key) }));
            },
          }),
        ],
        before: async (client) => {
          await client.create(Namespace, { metadata: { name: 'team' } });
          await client.create(Machine, { metadata: { name: 'a', namespace: 'team' }, spec: {} });
        },
      });
      await at.settle();
      await at.restart();
      await at.client.delete(Namespace, 'team');
      await at.clock.advance(5000);
      await eventually(
        async () => (await at.client.get(Machine, 'a', { namespace: 'team' })).metadata.deletionTimestamp,
      );
      expect((await at.client.list(externalEffectModel)).items).to.have.length(1);
      ready.open();
      await eventually(
        async () =>
          (await at.client.list(Namespace)).items.find(({ metadata }) => metadata.name === 'team') === undefined,
      );
      expect(last).to.deep.equal([...provider.things.values()]);
      expect((await at.client.list(externalEffectModel)).items).to.deep.equal([]);
      await at.stop();
    });
  });
}

describe('external effects of a former leader', () => {
  it('are not started, and the result of an effect in progress is not recorded', async () => {
    const provider = new FakeProvider();
    const gates = { before: gate(), within: gate() };
    const begun = new Set<string>();
    const errors: unknown[] = [];
    const server = await startTestServer({ models: [Machine] });
    const reconcile = async (run: MachineRun): Promise<void> => {
      begun.add(run.name);
      if (run.name === 'late') await gates.before.opened;
      const effect = async ({ key }: { readonly key: string }): Promise<unknown> => {
        const thing = provider.create(key, run.name);
        await gates.within.opened;
        return thing;
      };
      await run.once('create', effect, { find: () => undefined }).catch((error: unknown) => {
        errors.push(error);
        throw error;
      });
    };
    const stop = new AbortController();
    const running = createManager({
      client: server.client,
      clock: new FakeClock(),
      controllers: [controller(Machine, { reconcile })],
      leaderElection: { name: 'machines', identity: 'a' },
    })
      .run(stop.signal)
      .catch((error: unknown) => error);
    const make = (client: Client, name: string): Promise<unknown> =>
      client.create(Machine, { metadata: { name, namespace: 'default' }, spec: {} });
    await make(server.client, 'early');
    await make(server.client, 'late');
    await eventually(() => begun.size === 2 && provider.created.length === 1);
    // The test gives the Lease to another holder, and the manager does not know this yet.
    const spec = { holderIdentity: 'b', leaseTransitions: 7 };
    await server.client.patch(Lease, 'machines', { type: 'merge', patch: { spec } }, { namespace: 'default' });
    gates.within.open();
    await eventually(() => errors.length === 1);
    gates.before.open();
    await eventually(() => errors.length === 2);
    expect(errors.every(isFormerLeader)).to.equal(true);
    expect([...provider.things.values()].map(({ owner }) => owner)).to.deep.equal(['early']);
    const { items } = await server.client.list(externalEffectModel);
    expect(items.map(({ spec: { key }, status }) => [key, status])).to.deep.equal([[provider.created[0], undefined]]);
    stop.abort();
    await running;
    await server.stop();
  });
});
