import { externalEffectModel } from '@homeostat/controller-runtime/api';
import { controller, defineModel } from 'homeostat';
import type { Client, FromModel, ReconcileContext } from 'homeostat';
import type { ApiObject } from 'homeostat';
import { checkConvergence, eventually } from 'homeostat/testing';
import { expect } from 'chai';
import { runControllers, transports } from './both-clients.ts';
import type { Running, Transport } from './both-clients.ts';
import { Machine } from './effect-models.ts';
import { FakeProvider } from './fake-provider.ts';

/** A kind without namespaces. */
const Region = defineModel({
  gvk: 'work.example.com/v1/Region',
  plural: 'regions',
  schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { size: { type: 'string' } } } },
  } as const,
});

const ConfigMap = defineModel({
  gvk: 'v1/ConfigMap',
  plural: 'configmaps',
  scope: 'Namespaced',
  schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
});

type MachineRun = ReconcileContext<FromModel<typeof Machine>>;
type Reconcile = (run: MachineRun) => Promise<unknown>;

const namespace = 'default';

async function runMachine(
  transport: Transport,
  { reconcile, cleanup }: { readonly reconcile: Reconcile; readonly cleanup?: Reconcile },
): Promise<Running> {
  const definition = controller(Machine, {
    reconcile: async (run) => void (await reconcile(run)),
    ...(cleanup && { cleanup: async (run: MachineRun) => void (await cleanup(run)) }),
  });
  const at = await runControllers(transport, {
    models: [Machine],
    controllers: [definition],
    before: (client) => client.create(Machine, { metadata: { name: 'a', namespace }, spec: {} }),
  });
  await at.settle();
  return at;
}

/** Changes the machine, so that its controller runs. */
async function touch(at: Running, size: string): Promise<void> {
  await at.client.patch(Machine, 'a', { type: 'merge', patch: { spec: { size } } }, { namespace });
  await at.settle();
}

/** Waits until the garbage collection of the server has deleted all objects of the kind ExternalEffect. */
const hasNoRecords = (at: Running): Promise<boolean> =>
  eventually(async () => (await recordsOf(at.client)).length === 0);

const recordsOf = async (client: Client) => (await client.list(externalEffectModel)).items;

for (const transport of transports) {
  describe(`an external effect of a run, ${transport}`, () => {
    let provider: FakeProvider;
    let results: unknown[];
    beforeEach(() => {
      provider = new FakeProvider();
      results = [];
    });

    const createOnce = (run: MachineRun): Promise<unknown> =>
      run.once('create', ({ key }) => provider.create(key, run.object.metadata.uid), {
        find: ({ key }) => provider.find(key),
      });
    const reconcile = async (run: MachineRun): Promise<void> => void results.push(await createOnce(run));

    it('happens once; later runs get its result without a request, and the first run after a restart with one request', async () => {
      const at = await runMachine(transport, { reconcile });
      const first = at.requestsOfRuns();
      await touch(at, 'large');
      expect(at.requestsOfRuns()).to.equal(first);
      await at.restart();
      await at.settle();
      expect(at.requestsOfRuns()).to.equal(first + 1);
      expect(provider.created).to.have.length(1);
      expect(provider.sought).to.deep.equal([]);
      const thing = [...provider.things.values()][0];
      expect(results).to.deep.equal([thing, thing, thing]);
      await at.stop();
    });

    it('has a record with the key and the result; the object owns the record, and the record is deleted with the object', async () => {
      const at = await runMachine(transport, { reconcile });
      const machine = await at.client.get(Machine, 'a', { namespace });
      const [record] = await recordsOf(at.client);
      expect(record?.metadata.name).to.match(/^machine\.[0-9a-f]{40}$/);
      expect(record?.metadata.ownerReferences).to.deep.equal([
        { apiVersion: 'work.example.com/v1', kind: 'Machine', name: 'a', uid: machine.metadata.uid },
      ]);
      expect(record?.spec).to.deep.equal({
        controller: 'work.example.com/machine',
        effect: 'create',
        key: provider.created[0],
      });
      expect(JSON.parse(record?.status?.result ?? '')).to.deep.equal(results[0]);
      expect(record?.status).to.have.property('completionTime').and.not.to.have.property('expirationTime');
      await at.client.delete(Machine, 'a', { namespace });
      await hasNoRecords(at);
      await at.stop();
    });

    it('stays pending when its function throws: the next run calls find, and then repeats the effect with the same key', async () => {
      let failures = 1;
      const at = await runMachine(transport, {
        reconcile: async (run) => {
          const effect = ({ key }: { readonly key: string }): unknown => {
            provider.sought.push(`effect ${key}`);
            if (failures-- > 0) throw new Error('the provider is down');
            return provider.create(key, 'a');
          };
          results.push(await run.once('create', effect, { find: ({ key }) => provider.find(key) }));
        },
      });
      await at.clock.advance(1000);
      await at.settle();
      const [key] = provider.created;
      expect(provider.sought).to.deep.equal([`effect ${key}`, key, `effect ${key}`]);
      expect(provider.created).to.have.length(1);
      await at.stop();
    });

    it('whose response is lost is found by the next run, and not repeated', async () => {
      provider.afterCreate = () => {
        throw new Error('the response is lost');
      };
      const at = await runMachine(transport, { reconcile });
      await at.clock.advance(1000);
      await at.settle();
      expect([provider.created.length, provider.sought.length]).to.deep.equal([1, 1]);
      expect(results).to.deep.equal([...provider.things.values()]);
      await at.restart();
      await at.settle();
      expect([provider.created.length, provider.sought.length]).to.deep.equal([1, 1]);
      await at.stop();
    });

    it('happens once even if its function returns nothing', async () => {
      let count = 0;
      const at = await runMachine(transport, {
        reconcile: async ({ once }) =>
          results.push(await once('ping', () => void (count += 1), { find: () => undefined })),
      });
      await at.restart();
      await at.settle();
      expect([count, results]).to.deep.equal([1, [undefined, undefined]]);
      await at.stop();
    });

    it('happens again in the next run, with a new idempotency key, after its record has expired and was deleted', async () => {
      const at = await runMachine(transport, {
        reconcile: (run) =>
          run.once('create', ({ key }) => provider.create(key, 'a'), {
            find: ({ key }) => provider.find(key),
            expireAfter: '1h',
          }),
      });
      const [record] = await recordsOf(at.client);
      expect(record?.status?.expirationTime).to.be.a('string');
      await touch(at, 'large');
      await at.clock.advance(3_590_000);
      await touch(at, 'small');
      expect(await recordsOf(at.client)).to.have.length(1);
      await at.clock.advance(20_000);
      await at.settle();
      expect(await recordsOf(at.client)).to.deep.equal([]);
      expect(provider.created).to.have.length(1);
      await touch(at, 'large');
      expect(new Set(provider.created).size).to.equal(2);
      expect(provider.sought).to.deep.equal([]);
      await at.stop();
    });

    it('happens again in the next run when its record expired while no controller ran', async () => {
      const at = await runMachine(transport, {
        reconcile: (run) =>
          run.once('create', ({ key }) => provider.create(key, 'a'), { find: () => undefined, expireAfter: '10s' }),
      });
      const [old] = await recordsOf(at.client);
      await at.pause();
      await at.clock.advance(60_000);
      await at.restart();
      await at.settle();
      const records = await recordsOf(at.client);
      expect(records.map(({ spec }) => spec.key)).to.deep.equal(provider.created.slice(1));
      expect(records[0]?.metadata.uid).not.to.equal(old?.metadata.uid);
      await at.stop();
    });

    it('is refused with an error that names the mistake when once is used incorrectly', async () => {
      const find = (): undefined => undefined;
      const errors: string[] = [];
      const attempt = async (call: () => Promise<unknown>): Promise<void> => {
        await call().catch((error: unknown) => errors.push(String(error)));
      };
      const at = await runMachine(transport, {
        reconcile: async ({ once }) => {
          await attempt(() => once('', () => 1, { find }));
          await attempt(() => once('x'.repeat(64), () => 1, { find }));
          await attempt(() => once('a', 1 as never, { find }));
          await attempt(() => once('a', () => 1, undefined as never));
          await attempt(() => once('a', () => 1, { find, expireafter: '1s' } as never));
          await attempt(() => once('a', () => 1, { find, expireAfter: 0 }));
          await attempt(() => once.last('', { find }));
          await once('twice', () => 1, { find });
          await attempt(() => once('twice', () => 1, { find }));
          await attempt(() => once('large', () => 'x'.repeat(65_535), { find }));
          await attempt(() => once('function', () => find, { find }));
          await once('fits', () => 'x'.repeat(65_534), { find });
        },
      });
      expect(errors).to.deep.equal([
        'TypeError: once: the name of an effect must have 1 to 63 characters, not 0 characters',
        'TypeError: once: the name of an effect must have 1 to 63 characters, not 64 characters',
        'TypeError: once("a"): the effect must be a function',
        'TypeError: once("a"): the option "find" must be a function that looks for what an earlier run made',
        'TypeError: once("a"): unknown key "expireafter". Did you mean "expireAfter"?',
        'RangeError: once("a"): expireAfter must be above 0',
        'TypeError: once: the name of an effect must have 1 to 63 characters, not 0 characters',
        'Error: once("twice") was called twice in a run',
        'TypeError: once("large"): the result has 65537 bytes of JSON, and at most 65536 are recorded: return ids, and read the rest when it is needed',
        'TypeError: once("function"): the result is a function, which JSON cannot represent',
      ]);
      await at.stop();
    });

    for (const propagationPolicy of ['Background', 'Foreground', 'Orphan'] as const) {
      it(`is found by the cleanup when a crash prevented the record of its result (deletion with ${propagationPolicy})`, async () => {
        let hasCrashed = false;
        const last: unknown[] = [];
        const at = await runMachine(transport, {
          reconcile: async (run) => {
            if (!hasCrashed) await createOnce(run);
          },
          cleanup: async ({ once }) => {
            const thing = await once.last('create', { find: ({ key }) => provider.find(key) });
            last.push(thing, await once.last('never', { find: () => 1 }));
            if (thing !== undefined) provider.remove(thing.id);
          },
        });
        // Removes the recorded result, as if the process had crashed after the effect, before recording the result.
        const [record] = await recordsOf(at.client);
        await at.client.patch(
          externalEffectModel,
          record?.metadata.name ?? '',
          { type: 'merge', patch: { status: null } },
          { namespace, subresource: 'status' },
        );
        hasCrashed = true;
        await at.pause();
        const [thing] = provider.things.values();
        // The ConfigMap `witness` shows what the garbage collector does with dependents of the machine; it handles the
        // ConfigMap after the record of the effect. With Foreground, it deletes the ConfigMap; with Orphan, it removes
        // the owner reference. With Background, the ConfigMap stays, because the machine waits for its cleanup.
        const { uid } = await at.client.get(Machine, 'a', { namespace }).then(({ metadata }) => metadata);
        const ownerReferences = [{ apiVersion: 'work.example.com/v1', kind: 'Machine', name: 'a', uid }];
        await at.client.create(ConfigMap, { metadata: { name: 'witness', namespace, ownerReferences } });
        await at.client.delete(Machine, 'a', { namespace, propagationPolicy });
        await eventually(async () => {
          const witness = (await at.client.list(ConfigMap)).items.find(({ metadata }) => metadata.name === 'witness');
          const isOwned = witness?.metadata.ownerReferences !== undefined;
          return isOwned === (propagationPolicy === 'Background');
        });
        await at.restart();
        await at.settle();
        expect(last).to.deep.equal([thing, undefined]);
        expect(provider.things.size).to.equal(0);
        expect((await at.client.list(Machine)).items).to.deep.equal([]);
        await hasNoRecords(at);
        await at.stop();
      });
    }

    it('of an object without a namespace is recorded in the namespace default', async () => {
      const at = await runControllers(transport, {
        models: [Region],
        controllers: [
          controller(Region, {
            reconcile: async ({ once }) => void results.push(await once('x', () => 1, { find: () => undefined })),
          }),
        ],
        before: (client) => client.create(Region, { metadata: { name: 'a' } }),
      });
      await at.settle();
      expect(results).to.deep.equal([1]);
      expect((await recordsOf(at.client)).map(({ metadata }) => metadata.namespace)).to.deep.equal(['default']);
      await at.client.delete(Region, 'a');
      await hasNoRecords(at);
      await at.stop();
    });
  });
}

describe('an external effect under faults [slow]', () => {
  const provider = new FakeProvider();

  const options = (reconcile: Reconcile, cleanup: Reconcile) => ({
    controllers: () => [
      controller(Machine, {
        reconcile: async (run) => void (await reconcile(run)),
        cleanup: async (run) => void (await cleanup(run)),
      }),
    ],
    beforeRun: () => provider.reset(),
    // The provider numbers its things, so the ids in the status differ after a fault and are not compared.
    normalise: ({ metadata, ...rest }: ApiObject) => ({ ...rest, metadata, status: undefined }),
    scenario: async ({ client, settle }: { readonly client: Client; settle(this: void): Promise<void> }) => {
      await client.create(Machine, { metadata: { name: 'a', namespace }, spec: {} });
      await client.create(Machine, { metadata: { name: 'b', namespace }, spec: {} });
      await settle();
      await client.delete(Machine, 'b', { namespace });
      await settle();
    },
    invariants: {
      'an effect happens once for each key': () => {
        expect(new Set(provider.created).size).to.equal(provider.created.length);
      },
      'each thing belongs to a machine, and each machine has at most one': async (client: Client) => {
        const machines = new Set((await client.list(Machine)).items.map(({ metadata }) => metadata.uid));
        const owners = [...provider.things.values()].map(({ owner }) => owner);
        expect(new Set(owners).size, 'things of one machine').to.equal(owners.length);
        expect(owners.filter((owner) => !machines.has(owner))).to.deep.equal([]);
      },
    },
    seeds: 30,
  });

  const withOnce = options(
    async ({ once, object, status }) => {
      const { id } = await once('create', ({ key }) => provider.create(key, object.metadata.uid), {
        find: ({ key }) => provider.find(key),
      });
      await status({ id });
    },
    async ({ once }) => {
      const thing = await once.last('create', { find: ({ key }) => provider.find(key) });
      if (thing !== undefined) provider.remove(thing.id);
    },
  );

  it('happens once for each key, and the cleanup of a deleted Machine removes what the effect created at the provider', async () => {
    const { runs, faults } = await checkConvergence(withOnce);
    expect([runs, faults].every((count) => count > 30)).to.equal(true);
  });

  it("happens twice for a key when a controller only stores the provider's id in the status instead of calling `once`", async () => {
    const without = options(
      async ({ object, status }) => {
        if (object.status?.id !== undefined) return;
        await status({ id: provider.create(object.metadata.uid, object.metadata.uid).id });
      },
      async ({ object }) => {
        const id = object.status?.id;
        if (id !== undefined) provider.remove(id);
      },
    );
    const failure = await checkConvergence(without).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    expect(failure).to.include('the invariant "an effect happens once for each key" was broken');
  });
});
