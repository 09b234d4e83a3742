import type { Informer } from '@homeostat/controller-runtime';
import { defineModel, IndexSpec, simpleAttribute } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor, WatchEvent } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { serviceOwner } from '../registry/kinds/scheme-manager.ts';
import { StoreError } from '../store/store-error.ts';
import { startOn } from './api-server.ts';
import type { ApiServerOptions } from './api-server-options.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

interface Person extends ApiObject {
  readonly spec: { readonly email: string; readonly age?: number };
}

function personModel(unique: readonly ('email' | 'age')[] = ['email']): ModelDescriptor<Person> {
  const base = defineModel({
    gvk: 'people.example.com/v1/Person',
    plural: 'persons',
    schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { email: { type: 'string' }, age: { type: 'integer' } } },
      },
    },
  }) as unknown as ModelDescriptor<Person>;
  const indexes = unique.map((name) => {
    const indexFunc = simpleAttribute(base, ({ spec }) => String(spec[name]));
    return new IndexSpec({ name, unique: true, indexFunc });
  });
  return { ...base, indexes };
}

const Person = personModel();

interface Replica {
  readonly server: ApiServer;
  readonly store: ReplicaStore;
}

function reasonOf(error: unknown): unknown {
  return (error as { reason?: unknown }).reason ?? error;
}

async function failing(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no failure',
    (error: unknown) => reasonOf(error),
  );
}

describe('replicas on one database', () => {
  let database: SharedDatabase;
  const running: Replica[] = [];

  async function start(options: ApiServerOptions = {}, model: ModelDescriptor<Person> = Person): Promise<Replica> {
    const store = database.replica();
    const server = await startOn(store, { port: 0, ...options });
    running.push({ server, store });
    server.schemeManager.register(model);
    await server.whenReady(model);
    return { server, store };
  }

  beforeEach(() => {
    database = new SharedDatabase();
  });

  afterEach(async () => {
    await Promise.all(running.splice(0).map(({ server }) => server.stop()));
    await database.close();
  });

  const person = (
    name: string,
    email = `${name}@example.com`,
  ): Pick<Person, 'spec'> & { metadata: { name: string } } => ({
    metadata: { name },
    spec: { email },
  });

  const namesAt = async ({ server }: Replica): Promise<string[]> =>
    (await server.client.list(Person)).items.map(({ metadata }) => metadata.name).sort();

  /**
   * Starts a watch, which ends when the server stops. `seen` gets a short text for each event. `ended` resolves with
   * the reason when the watch fails.
   */
  function follow({ server }: Replica): { readonly seen: string[]; readonly ended: Promise<unknown> } {
    const seen: string[] = [];
    const watch: AsyncIterable<WatchEvent<Person>> = server.client.watch(Person, { resourceVersion: '' });
    const read = async (): Promise<void> => {
      for await (const { type, object } of watch) {
        const { name, resourceVersion } = (object as Person).metadata;
        seen.push(`${type} ${name} ${resourceVersion}`);
      }
    };
    return { seen, ended: read().catch(reasonOf) };
  }

  it('return the acknowledged writes of another replica in gets and lists, even if they receive no hints of these writes', async () => {
    const [a, b] = [await start(), await start()];
    b.store.isDeaf = true;
    for (let at = 0; at < 20; at += 1) {
      await a.server.client.create(Person, person(`p-${at}`));
      expect((await b.server.client.get(Person, `p-${at}`)).spec.email).to.equal(`p-${at}@example.com`);
      expect(await namesAt(b)).to.have.lengthOf(at + 1);
    }
  });

  it('serve resourceVersion 0 from memory, and any other resourceVersion once they have read the changes up to it', async () => {
    const [a, b] = [await start(), await start()];
    b.store.isDeaf = true;
    const { metadata } = await a.server.client.create(Person, person('ann'));
    const old = await b.server.client.list(Person, { resourceVersion: '0' });
    expect(old.items).to.deep.equal([]);
    const { resourceVersion } = metadata;
    const seen = await b.server.client.get(Person, 'ann', { resourceVersion });
    expect(seen.metadata.resourceVersion).to.equal(resourceVersion);
  });

  it('send each change of any replica to their watches once, in the same order', async () => {
    const replicas = [await start(), await start(), await start()];
    const followed = replicas.map(follow);
    const writes = replicas.map(async ({ server }, number) => {
      for (let at = 0; at < 30; at += 1) {
        const name = `r${number}-${at % 5}`;
        const existing = await server.client.get(Person, name).catch(() => undefined);
        if (existing === undefined) await server.client.create(Person, person(name));
        else if (at % 7 === 0) await server.client.delete(Person, name);
        else await server.client.update({ ...existing, spec: { ...existing.spec, age: at } });
      }
    });
    await Promise.all(writes);
    const { metadata } = await (replicas[0] as Replica).server.client.create(Person, person('last'));
    const last = `ADDED last ${metadata.resourceVersion}`;
    await eventually(() => followed.every(({ seen }) => seen.at(-1) === last));
    const [first, ...others] = followed.map(({ seen }) => seen);
    const revisions = (first ?? []).map((line) => Number(line.split(' ')[2]));
    expect(revisions).to.deep.equal([...new Set(revisions)].sort((x, y) => x - y));
    for (const other of others) expect(other).to.deep.equal(first);
    const listed = await Promise.all(replicas.map(namesAt));
    expect(listed[1]).to.deep.equal(listed[0]);
    expect(listed[2]).to.deep.equal(listed[0]);
  });

  it('decide writes with the stored state, even if their copy in memory is older', async () => {
    const [a, b] = [await start(), await start()];
    b.store.isDeaf = true;
    const created = await a.server.client.create(Person, person('ann'));
    expect(await failing(b.server.client.create(Person, person('ann', 'other@example.com')))).to.equal('AlreadyExists');
    await a.server.client.update({ ...created, spec: { ...created.spec, age: 1 } });
    expect(await failing(b.server.client.update({ ...created, spec: { ...created.spec, age: 2 } }))).to.equal(
      'Conflict',
    );
    // Compared with the state in memory, this patch changes nothing; but it changes the stored state.
    const patch = { type: 'merge', patch: { spec: { age: null } } } as const;
    expect((await b.server.client.patch(Person, 'ann', patch)).spec).to.not.have.property('age');
    await a.server.client.patch(Person, 'ann', { type: 'merge', patch: { spec: { age: 3 } } });
    await a.server.client.delete(Person, 'ann');
    expect(await failing(b.server.client.delete(Person, 'ann'))).to.equal('NotFound');
    await b.server.client.create(Person, person('ann'));
    expect(await failing(a.server.client.create(Person, person('ann')))).to.equal('AlreadyExists');
  });

  it('check a dry run against the stored state, even if their memory is older', async () => {
    const [a, b] = [await start(), await start()];
    b.store.isDeaf = true;
    await a.server.client.create(Person, person('ann'));
    expect(await failing(b.server.client.create(Person, person('ann'), { dryRun: true }))).to.equal('AlreadyExists');
    expect(await failing(b.server.client.create(Person, person('bob', 'ann@example.com'), { dryRun: true }))).to.equal(
      'Invalid',
    );
  });

  it('let only one of many objects take a unique value, even if several replicas create the objects', async () => {
    const replicas = [await start(), await start(), await start()];
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, at) => {
        const { server } = replicas[at % 3] as Replica;
        return failing(server.client.create(Person, person(`p-${at}`, 'same@example.com')));
      }),
    );
    expect(outcomes.filter((outcome) => outcome === 'no failure')).to.have.lengthOf(1);
    expect(outcomes.filter((outcome) => outcome === 'Invalid')).to.have.lengthOf(29);
    const [first = []] = await Promise.all(replicas.map(namesAt));
    expect(first).to.have.lengthOf(1);
  });

  it('let an object take a unique value that is free in the database but still taken in the copy in memory', async () => {
    const [a, b] = [await start(), await start()];
    await a.server.client.create(Person, person('ann', 'x@example.com'));
    expect(await namesAt(b)).to.deep.equal(['ann']);
    b.store.isDeaf = true;
    await a.server.client.delete(Person, 'ann');
    await b.server.client.create(Person, person('bob', 'x@example.com'));
    expect(await namesAt(a)).to.deep.equal(['bob']);
  });

  it('open a kind while another replica writes to it, and miss no change', async () => {
    const a = await start();
    let isOver = false;
    const writer = async (number: number): Promise<void> => {
      for (let at = 0; !isOver; at += 1) {
        const name = `w${number}-${at % 50}`;
        await a.server.client.create(Person, person(name));
        if (at % 3 === 0) await a.server.client.delete(Person, name);
        if (at >= 50 && at % 3 !== 0) break;
      }
    };
    const writing = Array.from({ length: 8 }, (_, number) => writer(number).catch(() => undefined));
    const b = await start();
    const { seen } = follow(b);
    isOver = true;
    await Promise.all(writing);
    const [atA, atB] = [await namesAt(a), await namesAt(b)];
    expect(atB).to.deep.equal(atA);
    const held = new Set<string>();
    await eventually(() => {
      held.clear();
      for (const line of seen) {
        const [type, name = ''] = line.split(' ');
        if (type === 'DELETED') held.delete(name);
        else held.add(name);
      }
      return held.size === atA.length;
    });
    expect([...held].sort()).to.deep.equal(atA);
  });

  it('receive the writes that other replicas make after the objects of a kind are read, and before the kind is open', async () => {
    const a = await start();
    await a.server.client.create(Person, person('ann'));
    await a.server.client.create(Person, person('bob'));
    const store = database.replica();
    const writes = [
      () => a.server.client.delete(Person, 'ann'),
      () => a.server.client.create(Person, person('cora', 'ann@example.com')),
    ];
    store.afterScan = async () => {
      for (const write of writes.splice(0)) await write();
    };
    const server = await startOn(store, { port: 0 });
    running.push({ server, store });
    server.schemeManager.register(Person);
    await server.whenReady(Person);
    expect(await namesAt({ server, store })).to.deep.equal(['bob', 'cora']);
    expect(await failing(server.client.create(Person, person('dan', 'ann@example.com')))).to.equal('Invalid');
  });

  it('receive the writes of another replica to a kind that they had unregistered, once they register the kind again', async () => {
    const [a, b] = [await start(), await start()];
    b.server.schemeManager.unregister(Person, serviceOwner);
    await a.server.client.create(Person, person('ann'));
    b.server.schemeManager.register(Person);
    await b.server.whenReady(Person);
    expect(await namesAt(b)).to.deep.equal(['ann']);
    const { seen } = follow(b);
    await a.server.client.create(Person, person('bob'));
    await eventually(() => seen.length === 2);
  });

  it('continue a list that another replica started', async () => {
    const [a, b] = [await start(), await start()];
    b.store.isDeaf = true;
    for (const name of ['ann', 'bob', 'cora']) await a.server.client.create(Person, person(name));
    const first = await a.server.client.list(Person, { limit: 2, sort: 'metadata.name,asc' });
    const { continue: token = '' } = first.metadata;
    const next = await b.server.client.list(Person, { limit: 2, sort: 'metadata.name,asc', continue: token });
    expect(next.items.map(({ metadata }) => metadata.name)).to.deep.equal(['cora']);
    expect(next.metadata.resourceVersion).to.equal(first.metadata.resourceVersion);
  });

  describe('when they have missed changes that are compacted', () => {
    const retention = { minAgeMs: 0, minChanges: 5, maxBytes: 2_000 };

    it('read everything again; watches end with Expired, and informers get the differences', async () => {
      const a = await start({ retention });
      const b = await start();
      for (const name of ['stays', 'goes', 'changes']) await a.server.client.create(Person, person(name));
      expect(await namesAt(b)).to.have.lengthOf(3);
      const informer = b.server.client.informer(Person);
      const told: string[] = [];
      informer.addHandler({
        onAdd: ({ metadata }) => void told.push(`add ${metadata.name}`),
        onUpdate: (_, { metadata, spec }) => void told.push(`update ${metadata.name} ${spec.age}`),
        onDelete: ({ metadata }) => void told.push(`delete ${metadata.name}`),
      });
      const abort = new AbortController();
      const run = informer.run(abort.signal);
      await eventually(() => told.length === 3);
      const watched = follow(b);
      await eventually(() => watched.seen.length === 3);
      let release: () => void = () => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      b.store.beforeChanges = () => held;

      await a.server.client.delete(Person, 'goes');
      await a.server.client.create(Person, person('comes'));
      for (let age = 1; age <= 60; age += 1) {
        await a.server.client.patch(Person, 'changes', { type: 'merge', patch: { spec: { age } } });
      }
      await eventually(async () => {
        const error = await a.store.changes(3, 1).catch((reason: unknown) => reason);
        return error instanceof Error;
      });
      let scans = 0;
      b.store.afterScan = async () => {
        scans += 1;
        if (scans === 1) throw new StoreError('io', 'the connection was lost');
      };
      release();
      expect(await namesAt(b)).to.deep.equal(['changes', 'comes', 'stays']);
      expect(scans).to.be.above(1);
      expect((await b.server.client.get(Person, 'changes')).spec.age).to.equal(60);
      expect(await watched.ended).to.equal('Expired');
      expect(informerNames(informer)).to.deep.equal(['changes', 'comes', 'stays']);
      await eventually(() => told.length === 6);
      expect(told.slice(3).sort()).to.deep.equal(['add comes', 'delete goes', 'update changes 60']);
      await a.server.client.create(Person, person('later'));
      await eventually(() => told.includes('add later'));
      abort.abort();
      await run;
    });
  });

  it('start even if the change log has more bytes than their option retention.maxBytes allows', async () => {
    const a = await start();
    for (let at = 0; at < 100; at += 1) await a.server.client.create(Person, person(`p-${at}`));
    const b = await start({ retention: { maxBytes: 4_000 } });
    expect(await namesAt(b)).to.have.lengthOf(100);
    await a.server.client.create(Person, person('last'));
    expect(await namesAt(b)).to.include('last');
  });

  describe('with different unique indexes', () => {
    it('refuse writes at the replica without the newest index, and serve all other requests', async () => {
      const old = await start();
      await old.server.client.create(Person, { metadata: { name: 'ann' }, spec: { email: 'a', age: 1 } });
      const next = await start({}, personModel(['email', 'age']));
      expect(await failing(old.server.client.create(Person, person('bob')))).to.equal('ServiceUnavailable');
      expect(await namesAt(old)).to.deep.equal(['ann']);
      const twin = { metadata: { name: 'bob' }, spec: { email: 'b', age: 1 } };
      expect(await failing(next.server.client.create(Person, twin))).to.equal('Invalid');
      await next.server.client.create(Person, { ...twin, spec: { email: 'b', age: 2 } });
      expect(await namesAt(old)).to.deep.equal(['ann', 'bob']);
    });

    it('accept writes again when the indexes are the same again', async () => {
      const first = await start();
      const other = await start({}, personModel(['email', 'age']));
      other.server.schemeManager.unregister(Person, serviceOwner);
      await start();
      await first.server.client.create(Person, person('ann'));
      expect(await failing(first.server.client.create(Person, person('bob', 'ann@example.com')))).to.equal('Invalid');
    });
  });

  describe('when the database fails', () => {
    const lost = new StoreError('io', 'the connection was lost');

    it('send each watch exactly one event for a write that returned Timeout but was stored', async () => {
      const [a, b] = [await start(), await start()];
      const watched = [follow(a), follow(b)];
      a.store.afterCommit = async () => {
        a.store.afterCommit = async () => undefined;
        throw new StoreError('unknown', 'the connection was lost');
      };
      expect(await failing(a.server.client.create(Person, person('ann')))).to.equal('Timeout');
      await a.server.client.create(Person, person('bob'));
      await eventually(() => watched.every(({ seen }) => seen.length === 2));
      for (const { seen } of watched) expect(seen.map((line) => line.split(' ')[1])).to.deep.equal(['ann', 'bob']);
      expect(await failing(a.server.client.create(Person, person('ann')))).to.equal('AlreadyExists');
    });

    it('report the failure at /readyz, serve reads of resourceVersion 0 from memory, and recover by themselves', async () => {
      const clock = new FakeClock();
      const { server, store } = await start({ clock });
      await server.client.create(Person, person('ann'));
      store.beforeRevision = store.beforeChanges = store.beforeCommit = () => Promise.reject(lost);
      expect(await failing(server.client.get(Person, 'ann'))).to.equal('ServiceUnavailable');
      expect(await failing(server.client.create(Person, person('bob')))).to.equal('ServiceUnavailable');
      const response = await fetch(`${server.url}/apis/people.example.com/v1/persons/ann`);
      expect([response.status, response.headers.get('retry-after')]).to.deep.equal([503, '1']);
      expect((await server.client.get(Person, 'ann', { resourceVersion: '0' })).metadata.name).to.equal('ann');
      const ready = async (): Promise<string> => (await fetch(`${server.url}/readyz`)).text();
      expect(await ready()).to.match(/\[-\]database failed: .*cannot write: the connection was lost/);
      expect((await fetch(`${server.url}/livez`)).status).to.equal(200);
      store.beforeRevision = store.beforeChanges = store.beforeCommit = async () => undefined;
      await server.client.create(Person, person('bob'));
      expect((await server.client.get(Person, 'ann')).metadata.name).to.equal('ann');
      expect(await ready()).to.equal('ok');
    });

    it('are not live when only a restart can help', async () => {
      const { server, store } = await start();
      store.beforeCommit = () => Promise.reject(new StoreError('diverged', 'the database has lost changes'));
      expect(await failing(server.client.create(Person, person('ann')))).to.equal('ServiceUnavailable');
      const response = await fetch(`${server.url}/livez`);
      expect([response.status, await response.text()]).to.satisfy(
        ([status, text]: [number, string]) => status === 503 && text.includes('the database has lost changes'),
      );
    });

    it('return 504 for a read when they cannot read the latest changes in time', async () => {
      const clock = new FakeClock();
      const a = await start();
      const b = await start({ clock });
      let release: () => void = () => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      b.store.beforeChanges = () => held;
      await a.server.client.create(Person, person('ann'));
      let outcome: unknown;
      const read = failing(b.server.client.get(Person, 'ann')).then((failure) => (outcome = failure));
      await eventually(async () => {
        await clock.advance(1_000);
        return outcome !== undefined;
      });
      expect(await read).to.equal('Timeout');
      release();
      expect(await namesAt(b)).to.deep.equal(['ann']);
    });

    it('repeat a failed read of the changes of other replicas, and miss no change', async () => {
      const a = await start();
      const b = await start();
      const { seen } = follow(b);
      let failures = 3;
      b.store.beforeChanges = async () => {
        failures -= 1;
        if (failures >= 0) throw lost;
      };
      for (const name of ['ann', 'bob']) await a.server.client.create(Person, person(name));
      await eventually(() => seen.length === 2);
      expect(failures).to.be.below(0);
    });
  });
});

function informerNames(informer: Informer<Person>): string[] {
  return informer
    .list()
    .map(({ metadata }) => metadata.name)
    .sort();
}
