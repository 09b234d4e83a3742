import { controller, defineModel, isConflict, isNotFound } from 'homeostat';

const text = { type: 'string' } as const;
const spec = { type: 'object', required: ['name'], properties: { name: text } } as const;
const integer = { type: 'integer' } as const;
const status = {
  type: 'object',
  properties: { greeting: text, card: text, number: integer, observedGeneration: integer },
} as const;

export const Guest = defineModel({
  gvk: 'party.example.com/v1/Guest',
  plural: 'guests',
  schema: { type: 'object', required: ['spec'], properties: { spec, status } },
});

export const Card = defineModel({
  gvk: 'party.example.com/v1/Card',
  plural: 'cards',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { text } } } },
});

export function undefinedIfAbsent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/**
 * Starts a write without awaiting it. Handles its rejection, because an unhandled rejection would fail the test run.
 */
function forget(write: Promise<unknown>): void {
  write.catch(() => undefined);
}

/** A controller that makes a card for each guest, and greets the guest. */
export const host = controller(Guest, {
  owns: [Card],
  async reconcile({ object, ensure, status: writeStatus }) {
    const greeting = `Hello ${object.spec.name}`;
    await ensure(Card, object.metadata.name, { spec: { text: greeting } });
    await writeStatus({ greeting });
  },
});

/** Controllers that each make one mistake of an author. The keys name the mistakes. */
export const bugs = {
  'a missing await at the last write': controller(Guest, {
    owns: [Card],
    async reconcile({ object, ensure, status: writeStatus }) {
      const greeting = `Hello ${object.spec.name}`;
      await ensure(Card, object.metadata.name, { spec: { text: greeting } });
      forget(writeStatus({ greeting }));
    },
  }),
  'a missing await at a write before another write': controller(Guest, {
    owns: [Card],
    async reconcile({ object, ensure, status: writeStatus }) {
      const greeting = `Hello ${object.spec.name}`;
      forget(ensure(Card, object.metadata.name, { spec: { text: greeting } }));
      await writeStatus({ greeting });
    },
  }),
  'a missing await in a helper': controller(Guest, {
    async reconcile({ object, client, status: writeStatus }) {
      const greeting = `Hello ${object.spec.name}`;
      ['front', 'back'].forEach((side) => {
        forget(client.ensure(Card, `${object.metadata.name}-${side}`, { spec: { text: greeting } }));
      });
      await writeStatus({ greeting });
    },
  }),
  'a missing await at a read before a write': controller(Guest, {
    reconcile({ object, client, status: writeStatus }) {
      const greet = async (): Promise<void> => {
        const { spec: newest } = await client.get(Guest, object.metadata.name);
        await writeStatus({ greeting: newest.name });
      };
      forget(greet());
    },
  }),
  'a swallowed conflict of a status': controller(Guest, {
    async reconcile({ object, client }) {
      try {
        await client.updateStatus(object, { greeting: `Hello ${object.spec.name}` });
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    },
  }),
  'a swallowed conflict of another object': controller(Guest, {
    async reconcile({ object, client }) {
      const { name } = object.metadata;
      const card = await client.get(Card, name).catch(undefinedIfAbsent);
      const made = { spec: { text: object.spec.name } };
      try {
        if (card === undefined) await client.create(Card, { metadata: { name }, ...made });
        else await client.update({ ...card, ...made });
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    },
  }),
  'a status from a stale object, with the generation of the newest': controller(Guest, {
    async reconcile({ object, client }) {
      const { generation, name } = object.metadata;
      if (object.status?.observedGeneration === generation) return;
      const wanted = { greeting: `Hello ${object.spec.name}` };
      try {
        await client.updateStatus(object, { ...wanted, observedGeneration: generation });
      } catch (error) {
        if (!isConflict(error)) throw error;
        const newest = await client.get(Guest, name);
        await client.updateStatus(newest, { ...wanted, observedGeneration: newest.metadata.generation });
      }
    },
  }),
  'a status that is computed from a stale list, and never again': controller(Guest, {
    concurrency: 1,
    async reconcile({ object, client, status: writeStatus }) {
      if (object.status?.number !== undefined) return;
      const { items } = await client.list(Guest);
      await writeStatus({ number: 1 + Math.max(0, ...items.map((guest) => guest.status?.number ?? 0)) });
    },
  }),
  'a read that takes every error for "not there"': controller(Guest, {
    async reconcile({ object, client, status: writeStatus }) {
      const { name } = object.metadata;
      const card = await client.get(Card, name).catch(() => undefined);
      if (card === undefined) await client.ensure(Card, name, { spec: { text: object.spec.name } });
      await writeStatus({ card: card === undefined ? 'new' : 'kept' });
    },
  }),
} as const;
