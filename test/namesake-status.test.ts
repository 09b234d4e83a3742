import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { controller, createClient, createManager } from '@homeostat/controller-runtime';
import { defineModel, descriptorOf, reasonOf } from '@homeostat/controller-runtime/api';
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

describe('A status of an object that was replaced by a namesake', () => {
  let server: ApiServer;

  beforeEach(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
    server.schemeManager.register(Person);
    await server.whenReady(descriptorOf(Person));
  });

  afterEach(() => server.stop());

  const create = (name: string) => server.client.create(Person, { metadata: { name: 'ada' }, spec: { name } });

  for (const way of ['in process', 'over HTTP']) {
    it(`is refused as a conflict, and never written to the namesake, ${way}`, async () => {
      const outcomes: string[] = [];
      const greeter = controller(Person, {
        async reconcile({ object, status }) {
          if (outcomes.length === 0) {
            await server.client.delete(Person, 'ada');
            await create('Second');
          }
          try {
            const written = await status({ greeting: `Hello ${object.spec.name}` });
            outcomes.push(`${written.status?.greeting} for ${written.spec.name}`);
          } catch (error) {
            outcomes.push(String(reasonOf(error)));
            throw error;
          }
        },
      });
      const stop = new AbortController();
      const client = way === 'in process' ? server.client : createClient(server.url);
      await create('First');
      const running = createManager({ client, controllers: [greeter] }).run(stop.signal);
      await eventually(() => outcomes.includes('Hello Second for Second'));
      expect(outcomes[0]).to.equal('Conflict');
      expect(new Set(outcomes.filter((each) => each !== 'Conflict'))).to.deep.equal(
        new Set(['Hello Second for Second']),
      );
      stop.abort();
      await running;
    });
  }
});
