import { defineModel, isExpired, isNotFound } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor, WatchEvent } from '@homeostat/controller-runtime/api';
import { eventually, seededRandom } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { StoreError } from '../store/store-error.ts';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

const replicaCount = 3;
const keysPerWriter = 3;
const writesPerWriter = 40;

interface Note extends ApiObject {
  readonly spec: string;
}

const Note = defineModel({
  gvk: 'notes.example.com/v1/Note',
  plural: 'notes',
  schema: { type: 'object', properties: { spec: { type: 'string' } } },
}) as unknown as ModelDescriptor<Note>;

/** The state of an object as its only writer knows it. */
interface Known {
  /** The revision of the last acknowledged state; undefined when the object is absent. */
  revision: number | undefined;
  isBeingDeleted: boolean;
  /** The number of deletions that were started. */
  deletions: number;
}

/**
 * Delays each commit, and each read of the changes or of the revision. Makes some commits and some reads of changes
 * fail, and makes the store lose hints.
 */
function disturb(store: ReplicaStore, random: () => number): void {
  const pass = async (most: number): Promise<void> => {
    for (let turns = Math.floor(random() * most); turns > 0; turns -= 1) {
      await nextTurn();
    }
  };
  store.beforeRevision = store.beforeCommit = async () => pass(4);
  store.beforeChanges = async () => {
    await pass(8);
    if (random() < 0.05) throw new StoreError('io', 'the connection was lost');
  };
  store.afterCommit = async () => {
    store.isDeaf = random() < 0.3;
    await pass(6);
    if (random() < 0.02) throw new StoreError('unknown', 'the connection was lost at the commit');
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

class Writer {
  readonly known = new Map<string, Known>();
  readonly #server: ApiServer;
  readonly #random: () => number;
  #writes = 0;

  constructor(name: string, server: ApiServer, random: () => number) {
    this.#server = server;
    this.#random = random;
    for (let at = 0; at < keysPerWriter; at += 1)
      this.known.set(`${name}-${at}`, { revision: undefined, isBeingDeleted: false, deletions: 0 });
  }

  async run(): Promise<void> {
    const names = [...this.known.keys()];
    for (let write = 0; write < writesPerWriter; write += 1) {
      const name = names[Math.floor(this.#random() * names.length)] ?? '';
      await this.#write(name, this.known.get(name) as Known);
    }
  }

  async #write(name: string, known: Known): Promise<void> {
    const { client } = this.#server;
    const spec = `${name} ${(this.#writes += 1)}`;
    try {
      if (known.revision === undefined) {
        known.revision = revisionOf(await client.create(Note, { metadata: { name }, spec }));
      } else if (this.#random() < 0.25) {
        known.isBeingDeleted = true;
        known.deletions += 1;
        await client.delete(Note, name);
        known.revision = undefined;
      } else {
        const resourceVersion = String(known.revision);
        const patch = { metadata: { resourceVersion }, spec };
        known.revision = revisionOf(await client.patch(Note, name, { type: 'merge', patch }));
      }
    } catch (error) {
      // After a Timeout, the outcome of the write is unknown, so the object is read, as a client would do.
      if ((error as { reason?: unknown }).reason !== 'Timeout') throw error;
      const stored = await client.get(Note, name).catch(absent);
      known.revision = stored === undefined ? undefined : revisionOf(stored);
    }
    known.isBeingDeleted = false;
  }
}

function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function revisionOf({ metadata }: ApiObject): number {
  return Number(metadata.resourceVersion);
}

/** Reads the objects of all writers, and compares them with the writes that were acknowledged before the read. */
async function readAround(server: ApiServer, writers: readonly Writer[], isOver: () => boolean): Promise<number> {
  const keys = writers.flatMap(({ known }) => [...known]);
  let reads = 0;
  for (; !isOver(); reads += 1) {
    const [name, state] = keys[reads % keys.length] as [string, Known];
    await nextTurn();
    const before = { ...state };
    const found = await server.client.get(Note, name).catch(absent);
    if (found !== undefined) expect(revisionOf(found)).to.be.at.least(before.revision ?? 0);
    // A stored object can be absent only if its deletion was running before the read, or was started during the read.
    else if (before.revision !== undefined)
      expect(before.isBeingDeleted || state.deletions > before.deletions).to.equal(true);
  }
  return reads;
}

/**
 * Follows a kind: lists its objects, and watches from the revision of the list. Lists again whenever the watch has
 * ended. `relists` counts the watches that ended with Expired.
 */
class Watcher {
  readonly objects = new Map<string, number>();
  last = 0;
  relists = 0;
  readonly #server: ApiServer;
  readonly #abort = new AbortController();

  constructor(server: ApiServer) {
    this.#server = server;
  }

  stop(): void {
    this.#abort.abort();
  }

  async run(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      try {
        await this.#list();
        await this.#follow();
      } catch (error) {
        if (!isExpired(error)) throw error;
        this.relists += 1;
      }
    }
  }

  async #list(): Promise<void> {
    const { items, metadata } = await this.#server.client.list(Note);
    this.last = Number(metadata.resourceVersion);
    this.objects.clear();
    for (const object of items) this.objects.set(object.metadata.name, revisionOf(object));
  }

  async #follow(): Promise<void> {
    const events: AsyncIterable<WatchEvent<Note>> = this.#server.client.watch(Note, {
      resourceVersion: String(this.last),
      signal: this.#abort.signal,
    });
    for await (const { type, object } of events) {
      const { name } = (object as Note).metadata;
      const revision = revisionOf(object as Note);
      expect(revision, `${type} ${name}`).to.be.above(this.last);
      if (type === 'ADDED') expect(this.objects.has(name), `ADDED ${name} at ${revision}`).to.equal(false);
      else expect(this.objects.has(name), `${type} ${name} at ${revision}`).to.equal(true);
      this.last = revision;
      if (type === 'DELETED') this.objects.delete(name);
      else this.objects.set(name, revision);
    }
  }
}

async function runSchedule(seed: number): Promise<{ readonly reads: number; readonly relists: number }> {
  const random = seededRandom(seed);
  const database = new SharedDatabase();
  const servers: ApiServer[] = [];
  try {
    for (let at = 0; at < replicaCount; at += 1) {
      const store = database.replica();
      // The first replica compacts history that the other replicas may still have to read.
      const retention = at === 0 ? { retention: { maxBytes: 3_000 } } : {};
      const server = await startOn(store, { port: 0, ...retention });
      servers.push(server);
      server.schemeManager.register(Note);
      await server.whenReady(Note);
      disturb(store, random);
    }
    const watchers = servers.map((server) => new Watcher(server));
    const watching = watchers.map((watcher) => watcher.run());
    const writers = servers.flatMap((server, at) => [
      new Writer(`a${at}`, server, random),
      new Writer(`b${at}`, server, random),
    ]);
    let isOver = false;
    const readers = servers.map((server) => readAround(server, writers, () => isOver));
    await Promise.all(writers.map((writer) => writer.run()));
    isOver = true;
    const reads = (await Promise.all(readers)).reduce((sum, count) => sum + count, 0);
    const expected = writers.flatMap(({ known }) =>
      [...known].flatMap(([name, { revision }]) => (revision === undefined ? [] : [[name, revision] as const])),
    );
    for (const server of servers) {
      const { items } = await server.client.list(Note);
      const found = items.map((object) => [object.metadata.name, revisionOf(object)] as const);
      expect(found).to.have.deep.members(expected);
    }
    const isThere = (watcher: Watcher): boolean =>
      watcher.objects.size === expected.length &&
      expected.every(([name, revision]) => watcher.objects.get(name) === revision);
    await eventually(() => watchers.every(isThere));
    for (const watcher of watchers) watcher.stop();
    await Promise.all(watching);
    return { reads, relists: watchers.reduce((sum, { relists }) => sum + relists, 0) };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await database.close();
  }
}

describe('replicas whose database is slow, loses hints and fails, all at random', () => {
  it('agree with each other, with the acknowledged writes, and with the events of their watches [slow]', async () => {
    let relists = 0;
    for (let seed = 1; seed <= 6; seed += 1) {
      try {
        const found = await runSchedule(seed);
        relists += found.relists;
        expect(found.reads).to.be.above(0);
      } catch (error) {
        throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
      }
    }
    expect(relists).to.be.above(0);
  });
});
