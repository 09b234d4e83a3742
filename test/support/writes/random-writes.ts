import type { Client } from '@homeostat/controller-runtime';
import { isApiError } from '@homeostat/controller-runtime/api';
import { pick } from './random.ts';
import { machine } from '../models/models.ts';

const writers = 3;

/** Sends at least `count` random writes to twelve objects of the kind Machine, from three concurrent writers. */
export async function writeAtRandom(client: Client, random: () => number, count: number): Promise<void> {
  const write = async (): Promise<void> => {
    for (let written = 0; written < count / writers; written += 1) await writeAny(client, random);
  };
  await Promise.all(Array.from({ length: writers }, write));
}

/** Makes a random write. Ignores a refusal, because another writer may have created, changed or deleted the object. */
async function writeAny(client: Client, random: () => number): Promise<void> {
  const name = `m-${Math.floor(random() * 12)}`;
  const metadata = { name, labels: { colour: pick(random, ['red', 'blue']) } };
  const spec = { power: Math.floor(random() * 1e6) };
  const chance = random();
  try {
    if (chance < 0.35) await client.delete(machine, name);
    else if (chance < 0.6)
      await client.create(machine, { metadata, spec } as object as Parameters<Client['create']>[1]);
    else await client.patch(machine, name, { type: 'merge', patch: { metadata, spec } });
  } catch (error) {
    if (!isApiError(error)) throw error;
  }
}
