import { get } from 'node:http';
import { defineModel, IndexSpec, simpleAttribute } from '@homeostat/controller-runtime/api';
import type { ApiError, ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { serviceOwner } from '../registry/kinds/scheme-manager.ts';
import type { Change } from '../store/store.ts';
import { StoreError } from '../store/store-error.ts';
import { startOn } from './api-server.ts';
import type { ApiServerOptions } from './api-server-options.ts';
import type { ApiServer } from './api-server.ts';
import { gate, openGates } from './gate.fixture.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

interface Note extends ApiObject {
  readonly spec: { readonly text: string };
}

const Note = defineModel({
  gvk: 'notes.example.com/v1/Note',
  plural: 'notes',
  schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { text: { type: 'string' } } } },
  },
}) as unknown as ModelDescriptor<Note>;

const Other = defineModel({
  gvk: 'notes.example.com/v1/Other',
  plural: 'others',
  schema: { type: 'object', additionalProperties: true },
});

interface Replica {
  readonly server: ApiServer;
  readonly store: ReplicaStore;
}

const free = async (): Promise<void> => undefined;

const note = (name: string, text = name): Pick<Note, 'spec'> & { metadata: { name: string } } => ({
  metadata: { name },
  spec: { text },
});

describe('a replica at critical moments', () => {
  let database: SharedDatabase;
  const running: Replica[] = [];

  async function begin(options: ApiServerOptions = {}): Promise<Replica> {
    const store = database.replica();
    const replica = { server: await startOn(store, { port: 0, ...options }), store };
    running.push(replica);
    return replica;
  }

  async function start(options: ApiServerOptions = {}): Promise<Replica> {
    const replica = await begin(options);
    replica.server.schemeManager.register(Note);
    await replica.server.whenReady(Note);
    return replica;
  }

  beforeEach(() => {
    database = new SharedDatabase();
  });

  afterEach(async () => {
    openGates();
    await Promise.all(running.splice(0).map(({ server }) => server.stop()));
    await database.close();
  });

  const namesAt = async ({ server }: Replica, resourceVersion?: string): Promise<string[]> => {
    const { items } = await server.client.list(Note, resourceVersion === undefined ? {} : { resourceVersion });
    return items.map(({ metadata }) => metadata.name).sort();
  };

  /** Compacts all changes so far, as another replica may do. */
  async function forget({ store }: Replica): Promise<void> {
    while ((await store.compact(await store.currentRevision(), 1000)) > 0);
  }

  describe('a complete read after compaction', () => {
    it('is retried when the database fails meanwhile', async () => {
      const [a, b] = [await start(), await start()];
      b.store.isDeaf = true;
      for (const name of ['ann', 'bob']) await a.server.client.create(Note, note(name));
      await forget(a);
      b.store.afterScan = async () => {
        b.store.afterScan = free;
        throw new StoreError('io', 'the connection was lost');
      };
      const unheard: unknown[] = [];
      const listen = (error: unknown): void => void unheard.push(error);
      const others = process.listeners('unhandledRejection');
      process.removeAllListeners('unhandledRejection').on('unhandledRejection', listen);
      try {
        expect(await namesAt(b)).to.deep.equal(['ann', 'bob']);
      } finally {
        process.removeListener('unhandledRejection', listen);
        for (const other of others) process.on('unhandledRejection', other);
      }
      expect(unheard).to.deep.equal([]);
    });

    it('does not undo writes of the same replica in memory', async () => {
      const [a, b] = [await start(), await start()];
      const told: string[] = [];
      const informer = b.server.client.informer(Note);
      informer.addHandler({
        onAdd: ({ metadata }) => void told.push(`add ${metadata.name}`),
        onDelete: ({ metadata }) => void told.push(`delete ${metadata.name}`),
      });
      const abort = new AbortController();
      const run = informer.run(abort.signal);
      const [answer, reading] = [gate(), gate()];
      b.store.afterCommit = answer.hold;
      const first = b.server.client.create(Note, note('ann'));
      await eventually(answer.isReached);
      await forget(a);
      b.store.afterScan = async () => {
        b.store.beforeChanges = reading.hold;
      };
      await eventually(reading.isReached);
      answer.open();
      await first;
      await b.server.client.create(Note, note('bob'));
      b.store.afterScan = b.store.beforeChanges = free;
      reading.open();
      await a.server.client.create(Note, note('cora'));
      expect(await namesAt(b)).to.deep.equal(['ann', 'bob', 'cora']);
      await eventually(() => told.includes('add cora'));
      expect(told).to.deep.equal(['add ann', 'add bob', 'add cora']);
      abort.abort();
      await run;
    });

    it('reports an object that was deleted and created again as two objects, so that the dependents of the first are deleted', async () => {
      const [a, b] = [await begin(), await start()];
      const owner = await b.server.client.create(Note, note('owner'));
      const { apiVersion, kind } = owner;
      const ownerReferences = [{ apiVersion, kind, name: 'owner', uid: owner.metadata.uid }];
      await b.server.client.create(Note, { metadata: { name: 'owned', ownerReferences }, spec: { text: '' } });
      const held = gate();
      b.store.beforeChanges = held.hold;
      await replaceOwner(a.store, owner.metadata.uid);
      await forget(a);
      b.store.beforeChanges = free;
      held.open();
      await eventually(async () => (await namesAt(b)).join() === 'owner');
    });
  });

  /**
   * Deletes the owner and creates it again with another uid, directly in the store, so that no garbage collector of a
   * server notices the deletion.
   */
  async function replaceOwner(store: ReplicaStore, uid: string): Promise<void> {
    const changes = await database.replica().changes(0, 100);
    const { key, kind, data, revision } = changes.find((change) => change.key.endsWith('/owner')) as Change;
    const next = Buffer.from(data).toString().replace(uid, '00000000-0000-4000-8000-000000000000');
    await store.commit([{ op: 'delete', key, kind, data, expect: revision }]);
    const created = await store.commit([{ op: 'create', key, kind, data: Buffer.from(next) }]);
    expect(created.outcomes).to.have.nested.property('[0].revision');
  }

  it('returns a new object to a list, even while another list requires a resourceVersion that does not exist', async () => {
    const clock = new FakeClock();
    const a = await start();
    const b = await start({ clock });
    b.store.isDeaf = true;
    const read = b.store.changes.bind(b.store);
    const answer = gate();
    let looks = 0;
    b.store.changes = async (after, limit) => {
      const changes = await read(after, limit);
      looks += 1;
      if (looks === 2) await answer.hold();
      return changes;
    };
    void b.server.client.list(Note, { resourceVersion: '1000000' }).catch(() => undefined);
    await eventually(answer.isReached);
    await a.server.client.create(Note, note('ann'));
    let asked = false;
    b.store.beforeRevision = async () => void (asked = true);
    const names = namesAt(b);
    await eventually(() => asked);
    answer.open();
    expect(await names).to.deep.equal(['ann']);
  });

  describe('a watch that waits until its replica has read all changes', () => {
    const url = (server: ApiServer): string => `${server.url}/apis/notes.example.com/v1/notes?watch=true`;

    it('ends with Expired when its kind is unregistered during the wait', async () => {
      const { server, store } = await start();
      const asked = gate();
      store.beforeRevision = asked.hold;
      const watch = server.client.watch(Note)[Symbol.asyncIterator]();
      const next = watch.next().then(
        () => 'an event',
        (error: unknown) => (error as ApiError).reason,
      );
      await eventually(asked.isReached);
      server.schemeManager.unregister(Note, serviceOwner);
      store.beforeRevision = free;
      asked.open();
      let outcome: unknown;
      void next.then((reason) => (outcome = reason));
      await eventually(() => outcome !== undefined);
      expect(outcome).to.equal('Expired');
    });

    it('gets a 410 over HTTP when its kind is unregistered during the wait', async () => {
      const { server, store } = await start();
      const asked = gate();
      store.beforeRevision = asked.hold;
      const answer = fetch(url(server));
      await eventually(asked.isReached);
      server.schemeManager.unregister(Note, serviceOwner);
      store.beforeRevision = free;
      asked.open();
      const response = await answer;
      const { reason } = (await response.json()) as { reason: string };
      expect([response.status, reason]).to.deep.equal([410, 'Expired']);
    });

    it('is dropped when its client disconnects during the wait', async () => {
      const { server, store } = await start({ maxWatches: 1 });
      const asked = gate();
      store.beforeRevision = asked.hold;
      const abort = new AbortController();
      const gone = fetch(url(server), { signal: abort.signal }).catch(() => 'gone');
      await eventually(asked.isReached);
      abort.abort();
      expect(await gone).to.equal('gone');
      await eventually(async () => (await fetch(`${server.url}/livez`)).status === 200);
      store.beforeRevision = free;
      asked.open();
      await server.client.list(Note);
      const next = new AbortController();
      const { status } = await fetch(url(server), { signal: next.signal });
      next.abort();
      expect(status).to.equal(200);
    });

    it('is refused when the server drains during the wait, and does not delay the drain', async () => {
      const { server, store } = await start();
      const asked = gate();
      store.beforeRevision = asked.hold;
      const status = new Promise((resolve, reject) => {
        const request = get(url(server), { agent: false }, (response) => resolve(response.resume().statusCode));
        request.on('error', reject);
      });
      await eventually(asked.isReached);
      const drained = server.drain();
      store.beforeRevision = free;
      asked.open();
      expect(await status).to.equal(503);
      await drained;
    });
  });

  it('refuses a read or a creation when its kind is unregistered while the request waits for the latest changes', async () => {
    const [a, b] = [await start(), await start()];
    await a.server.client.create(Note, note('ann'));
    await namesAt(b);
    const reads = [
      () => b.server.client.list(Note),
      () => b.server.client.get(Note, 'ann'),
      () => b.server.client.create(Note, note('ann')),
    ];
    for (const read of reads) {
      const asked = gate();
      b.store.beforeRevision = asked.hold;
      const outcome = read().then(JSON.stringify, (error: unknown) => (error as ApiError).reason);
      await eventually(asked.isReached);
      b.server.schemeManager.unregister(Note, serviceOwner);
      await a.server.client.patch(Note, 'ann', {
        type: 'merge',
        patch: { metadata: { labels: { 'example.com/a': 'b' } } },
      });
      b.store.beforeRevision = free;
      asked.open();
      // NotFound would mean that the objects are gone, but the kind may be served again, as in this test.
      expect(await outcome).to.equal('ServiceUnavailable');
      b.server.schemeManager.register(Note);
      await b.server.whenReady(Note);
    }
  });

  it('stops even while its garbage collector waits for changes that cannot be read [slow]', async () => {
    const [a, b] = [await start(), await start()];
    b.server.schemeManager.unregister(Note, serviceOwner);
    const owner = await a.server.client.create(Note, note('owner'));
    const { apiVersion, kind, metadata } = owner;
    const ownerReferences = [{ apiVersion, kind, name: 'owner', uid: metadata.uid }];
    await a.server.client.create(Note, { metadata: { name: 'owned', ownerReferences }, spec: { text: '' } });
    const commit = gate();
    a.store.afterCommit = async () => {
      a.store.beforeCommit = commit.hold;
    };
    await a.server.client.delete(Note, 'owner');
    await eventually(commit.isReached);
    a.store.beforeChanges = () => Promise.reject(new StoreError('io', 'the connection was lost'));
    b.server.schemeManager.register(Note);
    await b.server.whenReady(Note);
    await b.server.client.create(Note, note('other'));
    commit.open();
    await a.server.stop();
    running.splice(running.indexOf(a), 1);
  });

  it('reads a kind again completely when history is compacted while the kind opens', async () => {
    const a = await start();
    const b = await begin({ retention: { minAgeMs: 0, minChanges: 1, maxBytes: 1_000 } });
    b.server.schemeManager.register(Other);
    await b.server.whenReady(Other);
    const names = Array.from({ length: 20 }, (_, at) => `n-${10 + at}`);
    b.store.afterScan = async () => {
      b.store.afterScan = free;
      for (const name of names) await a.server.client.create(Note, note(name));
      // This list waits until b has read all changes. They exceed the `maxBytes` of b, so b compacts most of them.
      await b.server.client.list(Other);
    };
    b.server.schemeManager.register(Note);
    await b.server.whenReady(Note);
    expect(await namesAt(b)).to.deep.equal(names);
  });

  it('is not live when it cannot read changes, even if it can read the revision of the database', async () => {
    const clock = new FakeClock();
    const [a, b] = [await start(), await start({ clock })];
    b.store.beforeChanges = () => Promise.reject(new StoreError('diverged', 'the database has lost changes'));
    await a.server.client.create(Note, note('ann'));
    const live = async (): Promise<number> => (await fetch(`${b.server.url}/livez`)).status;
    await eventually(async () => (await live()) === 503);
    let reason: unknown;
    const read = b.server.client.list(Note).catch((error: unknown) => (reason = (error as ApiError).reason));
    await b.server.client.list(Note, { resourceVersion: '0' });
    expect(await live()).to.equal(503);
    await eventually(async () => {
      await clock.advance(1_000);
      return reason !== undefined;
    });
    await read;
    expect(reason).to.equal('Timeout');
    expect(await live()).to.equal(503);
  });

  it('reads the unique indexes of a kind only once when several writes are refused because another replica changed them', async () => {
    const a = await start();
    const base = Note as ModelDescriptor;
    const indexFunc = simpleAttribute(Note, ({ spec }) => spec.text);
    const indexed = { ...base, indexes: [new IndexSpec({ name: 'text', unique: true, indexFunc })] };
    const b = await begin();
    b.server.schemeManager.register(indexed);
    await b.server.whenReady(indexed);
    const uniqueIndexes = a.store.uniqueIndexes.bind(a.store);
    let looks = 0;
    a.store.uniqueIndexes = (kind) => {
      looks += 1;
      return uniqueIndexes(kind);
    };
    const writes = Array.from({ length: 30 }, (_, at) => a.server.client.create(Note, note(`n-${at}`)));
    const outcomes = await Promise.allSettled(writes);
    expect(outcomes.map(({ status }) => status)).to.not.include('fulfilled');
    expect(looks).to.equal(1);
  });

  it('opens a kind, however long the replica takes to read the changes of other replicas', async () => {
    const clock = new FakeClock();
    const a = await start();
    const b = await begin({ clock });
    const held = gate();
    b.store.beforeChanges = held.hold;
    await a.server.client.create(Note, note('ann'));
    b.server.schemeManager.register(Note);
    let outcome: unknown;
    const ready = b.server.whenReady(Note).catch((error: unknown) => (outcome = error));
    await eventually(held.isReached);
    let seconds = 0;
    await eventually(async () => {
      await clock.advance(1_000);
      return (seconds += 1) > 10;
    });
    expect(outcome).to.equal(undefined);
    b.store.beforeChanges = free;
    held.open();
    await ready;
    expect(await namesAt(b)).to.deep.equal(['ann']);
  });
});
