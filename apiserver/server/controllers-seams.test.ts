import { defineModel, isNotFound } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor, OwnerReference } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { eventKind } from '../builtin/event-kinds.ts';
import { startOn } from './api-server.ts';
import type { ApiServerOptions } from './api-server-options.ts';
import type { ApiServer } from './api-server.ts';
import { gate, openGates } from './gate.fixture.ts';
import type { Gate } from './gate.fixture.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

const modelOf = (
  gvk: `${string}/v1/${Capitalize<string>}` | `v1/${Capitalize<string>}`,
  plural: string,
  scope: 'Cluster' | 'Namespaced' = 'Cluster',
): ModelDescriptor => defineModel({ gvk, plural, scope, schema: { type: 'object', additionalProperties: true } });

const Note = modelOf('notes.example.com/v1/Note', 'notes');
const Page = modelOf('notes.example.com/v1/Page', 'pages', 'Namespaced');
const Namespace = modelOf('v1/Namespace', 'namespaces');
const Account = modelOf('v1/ServiceAccount', 'serviceaccounts', 'Namespaced');

interface Replica {
  readonly server: ApiServer;
  readonly store: ReplicaStore;
  /** The warnings and errors that the server has logged. */
  readonly complaints: string[];
}

const free = async (): Promise<void> => undefined;

describe('controllers of the server and concurrent writers', () => {
  let database: SharedDatabase;
  const running: Replica[] = [];

  async function start(options: ApiServerOptions = {}): Promise<Replica> {
    const store = database.replica();
    const complaints: string[] = [];
    const complain = (_fields: object, message: string): void => void complaints.push(message);
    const logger = { debug: () => {}, info: () => {}, warn: complain, error: complain };
    const server = await startOn(store, { port: 0, logger, ...options });
    const replica = { server, store, complaints };
    running.push(replica);
    for (const model of [Note, Page]) {
      server.schemeManager.forOwner('notes').register(model);
      await server.whenReady(model);
    }
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

  const idle = ({ server }: Replica): Promise<boolean> => eventually(() => server.isIdle());

  async function namesOf(model: ModelDescriptor, { server }: Replica): Promise<string[]> {
    const { items } = await server.client.list(model);
    return items.map(({ metadata }) => metadata.name).toSorted();
  }

  /** Lets a replica complete one more commit, and delays all later ones until the gate is opened. */
  function holdAfterNextCommit(store: ReplicaStore): Gate {
    const held = gate();
    store.afterCommit = async () => {
      store.afterCommit = free;
      store.beforeCommit = held.hold;
    };
    return held;
  }

  function letGo(store: ReplicaStore, held: Gate): void {
    store.beforeCommit = free;
    held.open();
  }

  describe('events that expire', () => {
    const minuteMs = 60_000;

    async function createEvent({ server }: Replica, name: string): Promise<void> {
      const event = { metadata: { name, namespace: 'default' }, involvedObject: {} };
      await server.client.create(eventKind, event);
    }

    it('stay when they occur again while the server deletes them', async () => {
      const clock = new FakeClock();
      const replica = await start({ clock });
      const { server, store, complaints } = replica;
      for (const name of ['again', 'once']) await createEvent(replica, name);
      await clock.advance(59.5 * minuteMs);
      const commit = gate();
      store.beforeCommit = commit.hold;
      const lastTimestamp = new Date(clock.now()).toISOString();
      const patch = { type: 'merge', patch: { lastTimestamp } } as const;
      const renewed = server.client.patch(eventKind, 'again', patch, { namespace: 'default' });
      await eventually(commit.isReached);
      await clock.advance(minuteMs);
      letGo(store, commit);
      await renewed;
      await eventually(async () => !(await namesOf(eventKind, replica)).includes('once'));
      await idle(replica);
      expect(await namesOf(eventKind, replica)).to.deep.equal(['again']);
      expect(complaints).to.deep.equal([]);
    });

    it('are deleted without a warning or an error in the logs when several servers delete them at the same time [slow]', async () => {
      const clock = new FakeClock();
      const [a, b] = [await start({ clock }), await start({ clock })];
      await createEvent(a, 'once');
      await b.server.client.list(eventKind);
      const commit = gate();
      b.store.beforeCommit = commit.hold;
      a.store.beforeCommit = () => eventually(commit.isReached).then(free);
      await clock.advance(61 * minuteMs);
      await eventually(async () => (await namesOf(eventKind, a)).length === 0);
      letGo(b.store, commit);
      await idle(b);
      expect([...a.complaints, ...b.complaints]).to.deep.equal([]);
    });
  });

  describe('garbage collection', () => {
    async function createNote({ server }: Replica, name: string, owner?: ApiObject): Promise<ApiObject> {
      const ownerReferences = owner === undefined ? [] : [referenceTo(owner)];
      return server.client.create(Note, { metadata: { name, ownerReferences } });
    }

    function referenceTo({ apiVersion, kind, metadata: { name, uid } }: ApiObject): OwnerReference {
      return { apiVersion, kind, name, uid };
    }

    it('deletes a dependent even if clients change it all the time', async () => {
      const replica = await start();
      const { client } = replica.server;
      await createNote(replica, 'owned', await createNote(replica, 'owner'));
      let writes = 0;
      const keepWriting = async (): Promise<void> => {
        while (writes < 200) {
          writes += 1;
          await client.patch(Note, 'owned', { type: 'merge', patch: { spec: { writes } } });
        }
      };
      const writers = [keepWriting(), keepWriting()].map((writer) => writer.catch((error: unknown) => error));
      await client.delete(Note, 'owner');
      for (const end of await Promise.all(writers)) expect(end).to.satisfy(isNotFound);
    });

    it('keeps an object that gets another owner while its former owner is being deleted', async () => {
      const replica = await start();
      const { client, admissions } = replica.server;
      const [owner, other] = [await createNote(replica, 'owner'), await createNote(replica, 'other')];
      for (const name of ['owned', 'sibling']) await createNote(replica, name, owner);
      const asked = gate();
      admissions.forOwner('notes', { client }).add({ model: Note, hooks: { onUpdate: asked.hold } });
      const patch = { metadata: { ownerReferences: [referenceTo(other)] } };
      const adopted = client.patch(Note, 'owned', { type: 'merge', patch });
      await eventually(asked.isReached);
      await client.delete(Note, 'owner');
      // The garbage collector checks `owned` before `sibling`. So when `sibling` is deleted, `owned` has been checked.
      await eventually(async () => !(await namesOf(Note, replica)).includes('sibling'));
      asked.open();
      await adopted;
      await idle(replica);
      expect(await namesOf(Note, replica)).to.deep.equal(['other', 'owned']);
    });
  });

  describe('a namespace that is deleted', () => {
    let clock: FakeClock;

    beforeEach(() => {
      clock = new FakeClock();
    });

    async function startOnClock(): Promise<Replica> {
      return start({ clock });
    }

    /** Advances the clock until a condition holds. */
    async function pass(isSo: () => boolean | Promise<boolean>): Promise<void> {
      await eventually(async () => {
        await clock.advance(1_000);
        return isSo();
      });
    }

    /** Creates the namespace, and waits until its service account exists and the replicas are idle. */
    async function createNamespace(first: Replica, ...others: readonly Replica[]): Promise<void> {
      await first.server.client.create(Namespace, { metadata: { name: 'short' } });
      for (const replica of [first, ...others]) {
        const { client } = replica.server;
        await eventually(async () => (await client.list(Account, { namespace: 'short' })).items.length === 1);
        await idle(replica);
      }
    }

    async function createPage({ server }: Replica, name: string): Promise<ApiObject> {
      return server.client.create(Page, { metadata: { name, namespace: 'short' } });
    }

    async function isGone({ server }: Replica): Promise<boolean> {
      return (await fetch(`${server.url}/api/v1/namespaces/short`)).status === 404;
    }

    /** Delays the commit that removes the namespace, which comes after the deletion of everything in the namespace. */
    function holdFinalization(store: ReplicaStore): Gate {
      const held = gate();
      store.beforeCommit = async (batch) => {
        if (batch.some(({ op, key }) => op === 'delete' && key.endsWith('namespaces/short'))) await held.hold();
      };
      return held;
    }

    /**
     * Lets replica `b` begin to create an object in a namespace before `b` receives the deletion of this namespace, and
     * delays the commit of the object until a call of `letGo`. Resolves when the namespace is gone.
     */
    async function createLate(a: Replica, b: Replica): Promise<{ readonly letGo: () => Promise<ApiObject> }> {
      await createNamespace(a, b);
      await b.server.client.list(Page);
      const commit = gate();
      b.store.beforeCommit = commit.hold;
      const late = createPage(b, 'late');
      await eventually(commit.isReached);
      await a.server.client.delete(Namespace, 'short');
      await pass(async () => isGone(a));
      return {
        letGo: () => {
          letGo(b.store, commit);
          return late;
        },
      };
    }

    it('refuses an object that a lagging server creates in the namespace after the namespace is removed', async () => {
      const [a, b] = [await startOnClock(), await startOnClock()];
      const late = await createLate(a, b);
      const failed: unknown = await late.letGo().catch((error: unknown) => error);
      expect(failed).to.include({ reason: 'NotFound', message: 'namespaces "short" not found' });
      for (const replica of [a, b]) expect(await namesOf(Page, replica)).to.deep.equal([]);
    });

    it('refuses an object that a lagging server creates in the namespace while its removal waits for finalizers', async () => {
      const [a, b] = [await startOnClock(), await startOnClock()];
      await createNamespace(a, b);
      const finalizers = ['example.com/wait'];
      await a.server.client.create(Page, { metadata: { name: 'slow', namespace: 'short', finalizers } });
      await b.server.client.list(Page);
      const commit = gate();
      b.store.beforeCommit = commit.hold;
      const late = createPage(b, 'late').catch((error: unknown) => error);
      await eventually(commit.isReached);
      await a.server.client.delete(Namespace, 'short');
      await pass(async () => {
        const { metadata } = await a.server.client.get(Page, 'slow', { namespace: 'short' });
        return metadata.deletionTimestamp !== undefined;
      });
      letGo(b.store, commit);
      expect(await late).to.include({ reason: 'Forbidden' });
      const patch = { metadata: { finalizers: null } };
      await b.server.client.patch(Page, 'slow', { type: 'merge', patch }, { namespace: 'short' });
      await pass(async () => isGone(a));
    });

    it('can be created again; the new namespace accepts an object that a lagging server began to create before the deletion', async () => {
      const [a, b] = [await startOnClock(), await startOnClock()];
      const late = await createLate(a, b);
      await createNamespace(a);
      await late.letGo();
      await Promise.all([a, b].map(idle));
      for (const replica of [a, b]) expect(await namesOf(Page, replica)).to.deep.equal(['late']);
    });

    it('keeps the objects of a new namespace with the same name, even when they have the names of deleted objects', async () => {
      const [a, b] = [await startOnClock(), await startOnClock()];
      await createNamespace(a, b);
      await createPage(a, 'page');
      await b.server.client.list(Page);
      const [here, there] = [holdAfterNextCommit(a.store), gate()];
      b.store.beforeCommit = there.hold;
      await a.server.client.delete(Namespace, 'short');
      await pass(there.isReached);
      letGo(a.store, here);
      await pass(async () => isGone(a));
      await createNamespace(a);
      await createPage(a, 'page');
      letGo(b.store, there);
      await Promise.all([a, b].map(idle));
      for (const replica of [a, b]) expect(await namesOf(Page, replica)).to.deep.equal(['page']);
    });

    it('is removed without a warning or an error in the logs when several servers finalize it at the same time', async () => {
      const [a, b] = [await startOnClock(), await startOnClock()];
      await createNamespace(a, b);
      const [here, there] = [holdFinalization(a.store), holdFinalization(b.store)];
      await a.server.client.delete(Namespace, 'short');
      await pass(() => here.isReached() && there.isReached());
      letGo(a.store, here);
      await pass(async () => isGone(a));
      letGo(b.store, there);
      await Promise.all([a, b].map(idle));
      expect([...a.complaints, ...b.complaints]).to.deep.equal([]);
    });

    it('is removed even if another server keeps changing its objects', async () => {
      const [replica, other] = [await startOnClock(), database.replica()];
      const { server, store } = replica;
      await createNamespace(replica);
      await createPage(replica, 'page');
      const changePage = async (): Promise<void> => {
        const changes = await other.changes(0, 100);
        const last = changes.findLast(({ key }) => key.endsWith('/page'));
        if (last?.op === 'delete' || last === undefined) return;
        const { key, kind, data, revision } = last;
        await other.commit([{ op: 'update', key, kind, data, expect: revision }]);
      };
      let left = 20;
      store.afterCommit = async () => {
        store.beforeCommit = async () => {
          if ((left -= 1) >= 0) await changePage();
        };
      };
      await server.client.delete(Namespace, 'short');
      await pass(async () => isGone(replica));
      expect(left).to.be.below(0);
    });
  });
});
