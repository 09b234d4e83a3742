// An API server in a separate process, which measures how long its event loop was blocked. The parent process calls its
// functions by messages.
import { serviceOwner, startApiServer } from '@homeostat/apiserver';
import { reasonOf } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { letter, machine, Person, personIndexes } from '../support/models/models.ts';
import { createNamespaces } from '../support/models/namespaces.ts';
import { EventLoopProbe } from './event-loop-probe.ts';
import { newThing, thingWith } from './models.ts';

/**
 * Functions that the parent process may call in this server, by name. The server sends the result of the function to
 * the parent.
 */
export interface HostileServerCalls {
  url(): string;
  takeLongestMs(): number;
  heldBytes(): Promise<number>;
  problems(): readonly string[];
  fill(count: number): Promise<void>;
  /** Changes each of the first `count` objects of {@link fill}. */
  change(count: number): Promise<void>;
  reindex(): Promise<void>;
  /** Runs an informer of the objects of {@link fill} as a plugin. Resolves when the informer has all objects. */
  follow(): Promise<void>;
  /** Adds another index to the informer of {@link follow}, and queries the index once it is filled. */
  indexFollowed(): Promise<void>;
  /**
   * Grants or withdraws the plugin's permission to follow the objects. This takes effect at the next change of a role.
   */
  permitFollowing(isPermitted: boolean): void;
  /** Resolves when the informer follows the kind again. */
  whenFollowed(): Promise<void>;
  /** Ends the informer. */
  unfollow(): Promise<void>;
}

const thingIndexes = ['spec.weight', 'spec.name'];
const thing = thingWith(thingIndexes);

/** The number of concurrent creations. */
const width = 500;

const database = process.argv[2] ?? 'memory:';

/**
 * The maximum size of the history. It is smaller for servers that share a database, so that the tests soon reach this
 * case: a server reads changes of another server so late that they have already been removed.
 */
const historyBytes = (database === 'memory:' ? 8 : 1) * 1024 * 1024;

const problems: string[] = [];
process.on('unhandledRejection', (error) => problems.push(String(error)));

const probe = new EventLoopProbe();
const server = await startApiServer({
  database,
  port: 0,
  // The history is short, because the tests would count the memory of a long history as growth.
  retention: { minAgeMs: 0, minChanges: 100, maxBytes: historyBytes },
});
const models: readonly ModelDescriptor[] = [letter, machine, thing];
server.schemeManager.register(Person, personIndexes);
for (const model of models) server.schemeManager.register(model);
for (const model of models) await server.whenReady(model);
await server.whenReady({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person' });
await createNamespaces(server.client, ['here']).catch((error: unknown) => {
  // Another server on the same database has created the namespace.
  if (reasonOf(error) !== 'AlreadyExists') throw error;
});

async function inBatches(count: number, write: (number: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += width) {
    const numbers = Array.from({ length: Math.min(width, count - from) }, (_, index) => from + index);
    await Promise.all(numbers.map(write));
  }
}

function fill(count: number): Promise<void> {
  return inBatches(count, (number) => server.client.create(thing, smallThing(number)));
}

let changes = 0;

function change(count: number): Promise<void> {
  changes += 1;
  const patch = { spec: { weight: changes } };
  return inBatches(count, (number) =>
    server.client.patch(thing, `filled-${number}`, { type: 'merge', patch }, { namespace: 'default' }),
  );
}

function smallThing(number: number): never {
  const labels = { app: `app-${number % 7}` };
  const spec = { name: `n${number}`, weight: number % 100, tags: ['a', 'b'], map: { text: 'x'.repeat(200) } };
  return newThing(`filled-${number}`, spec, { namespace: 'default', labels }) as never;
}

/** Registers the kind again with more indexes. The server reads all objects of the kind to build them. */
async function reindex(): Promise<void> {
  server.schemeManager.unregister(thing, serviceOwner);
  server.schemeManager.register(thingWith([...thingIndexes, 'spec.map.text', 'spec.tags']));
  await server.whenReady(thing);
}

let isPermitted = true;
const follower = server.createPluginClient('follower', { permits: () => isPermitted, cureOf: () => '' });
const followed = follower.informer(thing);
const following = new AbortController();
let run: Promise<void> = Promise.resolve();
let indexes = 0;

/** Waits until a condition about the informer is true, because its changes arrive in later turns of the event loop. */
async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 10));
}

function follow(): Promise<void> {
  run = followed.run(following.signal);
  return until(() => followed.hasSynced());
}

async function indexFollowed(): Promise<void> {
  indexes += 1;
  const name = `ending-${indexes}`;
  // Each value belongs to a hundred of the 100,000 objects. `byIndex` returns all objects of a value in one turn, so
  // there must be few.
  followed.addIndex(name, ({ metadata }) => [metadata.name.slice(-3)]);
  await followed.whenIndexed();
  if (followed.byIndex(name, '-42').length + followed.byIndex(name, '042').length === 0)
    throw new Error('the index is empty');
}

async function whenFollowed(): Promise<void> {
  const name = `seen-${indexes}-${changes}-${process.hrtime.bigint()}`;
  await server.client.create(thing, newThing(name, {}, { namespace: 'default' }) as never);
  await until(() => followed.get({ name, namespace: 'default' }) !== undefined);
}

function heldBytes(): Promise<number> {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return Promise.resolve(heapUsed + external);
}

const calls: HostileServerCalls = {
  url: () => server.url,
  takeLongestMs: () => probe.takeLongestMs(),
  heldBytes,
  problems: () => [...problems, ...(({} as Record<string, unknown>)['a'] === undefined ? [] : ['a prototype changed'])],
  fill,
  change,
  reindex,
  follow,
  indexFollowed,
  permitFollowing: (permitted: boolean) => void (isPermitted = permitted),
  whenFollowed,
  unfollow: () => {
    following.abort();
    return run;
  },
};

interface Call {
  readonly id: number;
  readonly name: keyof HostileServerCalls;
  readonly argument: never;
}

process.on('message', ({ id, name, argument }: Call) => {
  Promise.resolve(calls[name](argument)).then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
process.on('disconnect', () => {
  probe.stop();
  following.abort();
  void server.stop();
});
process.send?.({ id: 0 });
