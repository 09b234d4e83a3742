import { controller, isNotFound } from 'homeostat';
import type { ApiObject, Client, Model } from 'homeostat';
import { Badge, Person } from './staff.ts';

/** Returns the object, or undefined when it does not exist. */
async function find<T extends ApiObject>(client: Client, model: Model<T>, name: string): Promise<T | undefined> {
  try {
    return await client.get(model, name);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * A controller with a mistake: it assumes that an existing badge is complete. After a crash between its two writes, the
 * badge is never completed.
 */
export const halfDone = controller(Person, {
  async reconcile({ object, client }) {
    const { name } = object.metadata;
    if ((await find(client, Badge, name)) !== undefined) return;
    await client.create(Badge, { metadata: { name } });
    await client.patch(Badge, name, { type: 'merge', patch: { spec: { text: object.spec.name } } });
  },
});

/** A correct controller, which compares the actual with the desired state in each run. */
export const wholeOrAgain = controller(Person, {
  async reconcile({ object, client }) {
    await client.ensure(Badge, object.metadata.name, { spec: { text: object.spec.name } });
  },
});

/**
 * A controller with a mistake: it deletes a badge because the person is away according to the cache, which may be
 * stale.
 */
export const trustsItsCache = controller(Person, {
  async reconcile({ object, client }) {
    const { name } = object.metadata;
    if (object.spec.isAway !== true) await client.ensure(Badge, name, { spec: { text: object.spec.name } });
    else if ((await find(client, Badge, name)) !== undefined) await client.delete(Badge, name);
  },
});

/**
 * A correct controller, which reads from the server before it deletes a badge, because the server never returns old
 * states.
 */
export const asksFirst = controller(Person, {
  async reconcile({ object, client }) {
    const { name } = object.metadata;
    const person = object.spec.isAway === true ? await find(client, Person, name) : object;
    if (person?.spec.isAway === false) await client.ensure(Badge, name, { spec: { text: object.spec.name } });
    else if ((await find(client, Badge, name)) !== undefined) await client.delete(Badge, name);
  },
});

/**
 * A controller with a mistake: it cleans up at the event of a deleted person, and misses events while its process does
 * not run.
 */
export const waitsToBeTold = controller(Person, {
  reconcile: {
    async reconcile({ name, client }) {
      const person = await find(client, Person, name);
      if (person !== undefined) await client.ensure(Badge, name, { spec: { text: person.spec.name } });
      else if ((await find(client, Badge, name)) !== undefined) await client.delete(Badge, name);
    },
  },
});

/**
 * A correct controller, which sets an owner reference, so that the garbage collection deletes the badge with its owner.
 */
export const saysWhose = controller(Person, {
  owns: [Badge],
  async reconcile({ object, ensure }) {
    await ensure(Badge, object.metadata.name, { spec: { text: object.spec.name } });
  },
});
