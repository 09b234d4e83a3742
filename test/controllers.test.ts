import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { controller, createClient, createManager, on } from '@homeostat/controller-runtime';
import type { Client, ControllerDefinition, ManagerOptions, Runnable } from '@homeostat/controller-runtime';
import {
  ApiError,
  defineModel,
  descriptorOf,
  ignoreNotFound,
  isFormerLeader,
  reasonOf,
} from '@homeostat/controller-runtime/api';
import type { Logger, Model } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { gadget, gadgetV1, gadgetV2 } from './support/models/gadget-versions.ts';

const text = { type: 'string' } as const;
const Person = defineModel({
  gvk: 'people.example.com/v1alpha1/Person',
  plural: 'persons',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', properties: { name: text } },
      status: { type: 'object', properties: { greeting: text } },
    },
  } as const,
});
const Badge = defineModel({
  gvk: 'people.example.com/v1alpha1/Badge',
  plural: 'badges',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { text } } } } as const,
});

/** A model of the kind Lease that accepts every field. */
const Lease = defineModel({
  gvk: 'coordination.k8s.io/v1/Lease',
  plural: 'leases',
  scope: 'Namespaced',
  schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
});

/** Returns a logger that adds each warning and each error to `lines` as `<level> <message>: <error>`. */
function recordingLogger(lines: string[]): Logger {
  const at = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push(`${level} ${message}: ${fields['err'] instanceof Error ? String(fields['err']) : ''}`);
  return { debug: () => {}, info: () => {}, warn: at('warn'), error: at('error') };
}

for (const way of ['in process', 'over HTTP']) {
  describe(`A controller with a client ${way}`, () => {
    let server: ApiServer;
    let client: Client;
    let stop: () => Promise<void>;
    const lines: string[] = [];

    const run = (definition: ControllerDefinition, options: Partial<ManagerOptions> = {}): void => {
      const ended = new AbortController();
      const logger = recordingLogger(lines);
      const manager = createManager({ client, controllers: [definition], logger, ...options });
      const running = manager.run(ended.signal);
      stop = async () => {
        ended.abort();
        await running;
      };
    };

    beforeEach(async () => {
      lines.length = 0;
      stop = async () => {};
      server = await startApiServer({ database: 'memory:', port: 0 });
      for (const model of [Person, Badge] as readonly Model[]) {
        server.schemeManager.register(model);
        await server.whenReady(descriptorOf(model));
      }
      client = way === 'in process' ? server.client : createClient(server.url);
    });

    afterEach(async () => {
      await stop();
      await server.stop();
    });

    /**
     * Deletes an object, and creates another one with the same name. The new one has the same fields, or the given
     * spec.
     */
    const replace = async (model: Model, name: string, spec?: object): Promise<void> => {
      const former = await server.client.get(model, name);
      await server.client.delete(model, name);
      const free = { type: 'merge', patch: { metadata: { finalizers: null } } } as const;
      await server.client.patch(model, name, free).catch(ignoreNotFound);
      const { ownerReferences = [] } = former.metadata;
      const fields = spec === undefined ? former : { ...former, spec };
      await server.client.create(model, { ...fields, metadata: { name, ownerReferences } });
    };

    it('gets a conflict, and runs again without an error, when its object is replaced before it writes the status', async () => {
      const outcomes: unknown[] = [];
      run(
        controller(Person, {
          retryLimit: 0,
          async reconcile({ name, object, status }) {
            if (outcomes.length === 0) await replace(Person, name, { name: 'Second' });
            const written = status({ greeting: `Hello ${object.spec.name}` });
            const describe = (next: typeof object): string => `${next.status?.greeting} for ${next.spec.name}`;
            outcomes.push(await written.then(describe, reasonOf));
            await written;
          },
        }),
      );
      await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'First' } });
      await eventually(() => outcomes.includes('Hello Second for Second'));
      expect(outcomes[0]).to.equal('Conflict');
      expect(new Set(outcomes)).to.deep.equal(new Set(['Conflict', 'Hello Second for Second']));
      expect(lines).to.deep.equal([]);
    });

    it('has no error when the object or a dependent is deleted and created again with the same name during a run', async () => {
      let runs = 0;
      run(
        controller(Person, {
          retryLimit: 0,
          owns: [Badge],
          async reconcile({ name, object, ensure }) {
            runs += 1;
            if (runs === 2) await replace(Badge, name);
            await ensure(Badge, name, { spec: { text: object.spec.name ?? '' } });
          },
          async cleanup({ name }) {
            runs = -1;
            await replace(Person, name);
          },
        }),
      );
      await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
      await eventually(async () => (await server.client.get(Badge, 'ada')).spec?.text === 'Ada');
      await server.client.patch(Person, 'ada', { type: 'merge', patch: { spec: { name: 'Countess' } } });
      await eventually(async () => (await server.client.get(Badge, 'ada')).spec?.text === 'Countess');
      await server.client.delete(Person, 'ada');
      await eventually(async () => {
        const { metadata } = await server.client.get(Person, 'ada');
        return runs !== -1 && metadata.deletionTimestamp === undefined && metadata.finalizers?.length === 1;
      });
      expect(lines).to.deep.equal([]);
    });

    it('loses no event when a mapping fails once, and starts even if another mapping never returns', async () => {
      let calls = 0;
      const runs: string[] = [];
      run(
        controller(Person, {
          watches: [
            on(Badge, () => {
              calls += 1;
              if (calls === 1) throw new ApiError('ServiceUnavailable', 'in a moment');
              return ['late'];
            }),
            on(Badge, () => new Promise(() => {})),
          ],
          reconcile: { reconcile: ({ name }) => void runs.push(name) },
        }),
        { graceMs: 0 },
      );
      await server.client.create(Person, { metadata: { name: 'ada' }, spec: {} });
      await server.client.create(Badge, { metadata: { name: 'red' } });
      await eventually(() => runs.includes('ada') && runs.includes('late'));
      expect(lines).to.have.length(1);
      expect(lines[0]).to.contain('mapping an event to keys failed; trying again: ApiError: in a moment');
    });

    it('has a cache for each version of a kind: mappings and ensure get objects in the version of their model', async () => {
      server.schemeManager.register(gadget);
      await server.whenReady(gadget);
      const mapped: unknown[] = [];
      const ensured: unknown[] = [];
      let patches = 0;
      const patch = client.patch.bind(client);
      client.patch = (...request) => {
        patches += 1;
        return patch(...request);
      };
      run(
        controller(Person, {
          owns: [gadgetV2],
          watches: [
            on(gadgetV1, ({ apiVersion, spec }) => {
              mapped.push({ apiVersion, spec });
              return [];
            }),
          ],
          async reconcile({ object, name, ensure }) {
            const { apiVersion } = await ensure(gadgetV2, name, { spec: { size: 3, unit: 'mm' } });
            ensured.push({ of: object.spec.name, apiVersion });
          },
        }),
      );
      await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'A' } });
      await eventually(() => mapped.length === 1);
      await server.client.update({ ...(await server.client.get(Person, 'ada')), spec: { name: 'B' } });
      await eventually(() => ensured.some((each) => (each as { readonly of: string }).of === 'B'));
      expect(new Set(ensured.map((each) => (each as { readonly apiVersion: string }).apiVersion))).to.deep.equal(
        new Set(['shop.example.com/v2']),
      );
      expect(patches).to.equal(0);
      const spec = { extent: '3 mm', colour: 'red' };
      expect(mapped).to.deep.equal([{ apiVersion: 'shop.example.com/v1', spec }]);
      expect(lines).to.deep.equal([]);
    });

    it('gets an error from the compiler and an error at run time when it writes status to a model without status', async () => {
      run(
        controller(Badge, {
          async reconcile({ status }) {
            // @ts-expect-error -- the schema has no status
            await status({ text: 'lost' });
          },
        }),
      );
      await server.client.create(Badge, { metadata: { name: 'red' } });
      await eventually(() => lines.length > 0);
      expect(lines[0]).to.contain('TypeError: Badge has no status: add a property "status" to its schema');
    });
  });
}

describe('A runnable that needs leadership', () => {
  it('gets a client whose writes are refused once another process leads', async () => {
    const server = await startApiServer({ database: 'memory:', port: 0 });
    server.schemeManager.register(Person);
    await server.whenReady(Person);
    const stop = new AbortController();
    const { client } = server;
    let outcome: unknown;
    let lead = (): void => {};
    const leads = new Promise<void>((resolve) => (lead = resolve));
    let letGo = (): void => {};
    const mayWrite = new Promise<void>((resolve) => (letGo = resolve));
    const runnable: Runnable = {
      name: 'job',
      needs: 'leadership',
      async run(_signal, { client: fenced }) {
        lead();
        await mayWrite;
        const late = fenced.create(Person, { metadata: { name: 'late' }, spec: {} });
        outcome = await late.catch((error: unknown) => error);
      },
    };
    const leaderElection = { name: 'jobs', identity: 'one' };
    const manager = createManager({ client, runnables: [runnable], leaderElection });
    const running = manager.run(stop.signal).catch((error: unknown) => error);
    await leads;
    const spec = { holderIdentity: 'another', leaseTransitions: 7 };
    await client.patch(Lease, 'jobs', { type: 'merge', patch: { spec } }, { namespace: 'default' });
    letGo();
    expect(await running).to.satisfy(isFormerLeader);
    expect(outcome).to.satisfy(isFormerLeader);
    stop.abort();
    await server.stop();
  });
});
