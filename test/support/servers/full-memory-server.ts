import { setTimeout as sleep } from 'node:timers/promises';
import { startApiServer } from '@homeostat/apiserver';
import { descriptorOf, isApiError } from '@homeostat/controller-runtime/api';
import { testPatienceMs } from '@homeostat/controller-runtime/testing';
import { Person } from '../models/models.ts';

// A program that fills the memory of a server, frees it again, and prints the results as JSON. Arguments: the database,
// the maximum number of objects, and the number of labels of each. The objects stay in the database if all fit.

const [, , database = 'memory:', most = '1000000', labelCount = '20'] = process.argv;

/** The number of concurrent writes. */
const atOnce = 64;

const server = await startApiServer({ database, port: 0, retention: { minChanges: 100 } });
server.schemeManager.register(descriptorOf(Person));
await server.whenReady(descriptorOf(Person));
const { client } = server;
// This request creates the index of labels. Objects are outside of the heap, but this index is in the heap, so that new
// objects fill the heap.
await client.list(Person, { labelSelector: 'label-0=none' });

function person(name: string, noteLength: number): Person {
  const labels = Array.from({ length: Number(labelCount) }, (_, at) => [
    `label-${String(at)}`,
    `${name}-${String(at)}`,
  ]);
  return Object.assign(new Person(), {
    apiVersion: 'people.example.com/v1alpha1',
    kind: 'Person',
    // The index of labels is in the heap, so the label values fill the heap. The note is stored outside of the heap.
    metadata: { name, labels: Object.fromEntries(labels), annotations: { note: 'x'.repeat(noteLength) } },
    spec: { name: 'Ann', age: 30 },
  });
}

/** Returns the reason for which a write is refused; undefined when it succeeds. */
async function reasonOf(write: Promise<unknown>): Promise<string | undefined> {
  try {
    await write;
    return undefined;
  } catch (error) {
    if (!isApiError(error)) throw error;
    return error.reason;
  }
}

/** Calls `write` for each number until it returns the reason of a refusal. Returns the number of successful writes. */
async function each(count: number, write: (at: number) => Promise<string | undefined>): Promise<number> {
  let next = 0;
  let isOver = false;
  let done = 0;
  const run = async (): Promise<void> => {
    while (next < count && !isOver) {
      if ((await write(next++)) === undefined) done += 1;
      else isOver = true;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return done;
}

async function post(name: string): Promise<object> {
  const answer = await fetch(`${server.url}/apis/people.example.com/v1alpha1/persons`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(person(name, 0)),
  });
  return { retryAfter: answer.headers.get('retry-after'), status: await answer.json() };
}

async function resize(noteLength: number): Promise<string | undefined> {
  const stored = await client.get(Person, 'p-0');
  const annotations = { note: 'x'.repeat(noteLength) };
  const { apiVersion, kind, metadata, spec } = stored;
  return reasonOf(client.update({ apiVersion, kind, metadata: { ...metadata, annotations }, spec }));
}

/** Resolves when objects can be created again. */
async function freed(): Promise<void> {
  const untilMs = performance.now() + testPatienceMs(60_000);
  while ((await reasonOf(client.create(Person, person('again', 0)))) !== undefined) {
    if (performance.now() > untilMs) throw new Error('memory stays full');
    await sleep(50);
  }
}

async function useFull(): Promise<object> {
  const refused = await post('late');
  const { items } = await client.list(Person, { limit: 10 });
  const [larger, smaller] = [await resize(2000), await resize(10)];
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  return { refused, listed: items.length, larger, smaller, metrics };
}

const stored = await each(Number(most), async (at) => reasonOf(client.create(Person, person(`p-${String(at)}`, 1100))));
const full = stored < Number(most) ? await useFull() : undefined;
if (full !== undefined) {
  await each(stored, async (at) => reasonOf(client.delete(Person, `p-${String(at)}`)));
  await freed();
}
await server.stop();
process.stdout.write(`${JSON.stringify({ stored, full })}\n`);
