import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { controller, createClient, createManager } from '@homeostat/controller-runtime';
import type { Client, ControllerDefinition, ManagerOptions } from '@homeostat/controller-runtime';
import { defineModel, descriptorOf, ignoreNotFound } from '@homeostat/controller-runtime/api';
import type { Logger, Model } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

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

/** Each line as `<level> <message>: <error>`. */
function recordingLogger(lines: string[]): Logger {
  const at = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push(`${level} ${message}: ${String(fields['err'] ?? '')}`);
  return { debug: () => {}, info: () => {}, warn: at('warn'), error: at('error') };
}

for (const way of ['in process', 'over HTTP']) {
  describe(`A controller, its client ${way}`, () => {
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

    /** Deletes an object, and creates a namesake. */
    const replace = async (model: Model, name: string): Promise<void> => {
      const former = await server.client.get(model, name);
      await server.client.delete(model, name);
      const free = { type: 'merge', patch: { metadata: { finalizers: null } } } as const;
      await server.client.patch(model, name, free).catch(ignoreNotFound);
      const { ownerReferences = [] } = former.metadata;
      await server.client.create(model, { ...former, metadata: { name, ownerReferences } });
    };

    it('meets a namesake with its status as a conflict: no error, no retry used up', async () => {
      let runs = 0;
      run(
        controller(Person, {
          retryLimit: 0,
          async reconcile({ name, status }) {
            runs += 1;
            if (runs === 1) await replace(Person, name);
            await status({ greeting: 'hi' });
          },
        }),
      );
      await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
      await eventually(async () => (await server.client.get(Person, 'ada')).status?.greeting === 'hi');
      expect(lines).to.deep.equal([]);
    });

    it('meets a namesake of a dependent that it ensures, and of an object that it finalizes, without an error', async () => {
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
  });
}
