import { controller, isNotFound } from 'homeostat';
import type { ApiObject, Client, Model } from 'homeostat';
import { Badge, Person } from './staff.ts';

/** The object, or undefined when there is none. */
async function find<T extends ApiObject>(client: Client, model: Model<T>, name: string): Promise<T | undefined> {
  try {
    return await client.get(model, name);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Takes any existing badge for a finished one: after a crash between its two writes, the badge is never finished. */
export const halfDone = controller(Person, {
  async reconcile({ object, client }) {
    const { name } = object.metadata;
    if ((await find(client, Badge, name)) !== undefined) return;
    await client.create(Badge, { metadata: { name } });
    await client.patch(Badge, name, { type: 'merge', patch: { spec: { text: object.spec.name } } });
  },
});

/** Compares the actual with the desired state in each run. */
export const wholeOrAgain = controller(Person, {
  async reconcile({ object, client }) {
    await client.ensure(Badge, object.metadata.name, { spec: { text: object.spec.name } });
  },
});

/** Deletes a badge because its owner is away, according to a cache that may be stale. */
export const trustsItsCache = controller(Person, {
  async reconcile({ object, client }) {
    const { name } = object.metadata;
    if (object.spec.isAway !== true) await client.ensure(Badge, name, { spec: { text: object.spec.name } });
    else if ((await find(client, Badge, name)) !== undefined) await client.delete(Badge, name);
  },
});

/** Reads from the server, which never returns old states, before it deletes something. */
export const asksFirst = controller(Person, {
  async reconcile({ object, client }) {
    const { name } = object.metadata;
    const person = object.spec.isAway === true ? await find(client, Person, name) : object;
    if (person?.spec.isAway === false) await client.ensure(Badge, name, { spec: { text: object.spec.name } });
    else if ((await find(client, Badge, name)) !== undefined) await client.delete(Badge, name);
  },
});

/** Cleans up at the event that a person left, and misses events while it is down. */
export const waitsToBeTold = controller(Person, {
  reconcile: {
    async reconcile({ name, client }) {
      const person = await find(client, Person, name);
      if (person !== undefined) await client.ensure(Badge, name, { spec: { text: person.spec.name } });
      else if ((await find(client, Badge, name)) !== undefined) await client.delete(Badge, name);
    },
  },
});

/** Writes the badge's owner reference, so that any replica deletes it with its owner. */
export const saysWhose = controller(Person, {
  owns: [Badge],
  async reconcile({ object, ensure }) {
    await ensure(Badge, object.metadata.name, { spec: { text: object.spec.name } });
  },
});
