import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { CustomResourceDefinition } from '../crd/definition.ts';
import { StoreError } from '../store/store-error.ts';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import { gate, openGates } from './gate.fixture.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

const gvk = { group: 'shop.example.com', version: 'v1', kind: 'Widget' };
const widgets = '/apis/shop.example.com/v1/widgets';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const name = 'widgets.shop.example.com';

const definition: Omit<CustomResourceDefinition, 'metadata'> & { readonly metadata: { readonly name: string } } = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: {
    group: gvk.group,
    scope: 'Cluster',
    names: { plural: 'widgets', kind: gvk.kind },
    versions: [
      {
        name: gvk.version,
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
          },
        },
      },
    ],
  },
};

describe('CustomResourceDefinitions and replicas', () => {
  let database: SharedDatabase;
  const servers: ApiServer[] = [];
  const stores: ReplicaStore[] = [];

  let clock: FakeClock;

  beforeEach(async () => {
    database = new SharedDatabase();
    clock = new FakeClock();
    stores.splice(0, 2, database.replica(), database.replica());
    for (const store of stores) servers.push(await startOn(store, { port: 0, clock }));
  });

  afterEach(async () => {
    openGates();
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    await database.close();
  });

  const send = async (server: ApiServer, path: string, init?: RequestInit): Promise<Response> =>
    fetch(server.url + path, { ...init, headers: { 'content-type': 'application/json' } });
  const isServed = async (server: ApiServer): Promise<boolean> => (await send(server, widgets)).status === 200;

  it('are served or deleted once the database works again after a failure [slow]', async () => {
    const [first] = servers as [ApiServer, ApiServer];
    const path = `${definitions}/${name}`;
    let failures = 0;
    const fail = async (): Promise<void> => {
      failures += 1;
      throw new StoreError('io', 'the connection was lost');
    };
    const failMore = async (): Promise<void> => {
      const before = failures;
      for (const store of stores) store.afterScan = fail;
      await eventually(async () => {
        await clock.advance(1_000);
        return failures > before + 5;
      });
    };
    const heal = async (isOver: () => Promise<boolean>): Promise<void> => {
      for (const store of stores) store.afterScan = async () => undefined;
      await eventually(async () => {
        await clock.advance(1_000);
        return isOver();
      });
    };
    for (const store of stores) store.afterScan = fail;
    await send(first, definitions, { method: 'POST', body: JSON.stringify(definition) });
    await failMore();
    await heal(() => isServed(first));
    await send(first, path, { method: 'DELETE' });
    await heal(async () => (await send(first, path)).status === 404);
    for (const store of stores) store.afterScan = fail;
    await send(first, definitions, { method: 'POST', body: JSON.stringify(definition) });
    await failMore();
    await send(first, path, { method: 'DELETE' });
    await failMore();
    expect((await send(first, path)).status).to.equal(200);
    await heal(async () => (await send(first, path)).status === 404);
  });

  it('are served by all replicas, and deleted from all of them', async () => {
    const [first, second] = servers as [ApiServer, ApiServer];
    const created = await send(first, definitions, { method: 'POST', body: JSON.stringify(definition) });
    expect(created.status).to.equal(201);
    for (const server of servers) await eventually(() => isServed(server));
    const widget = { apiVersion: 'shop.example.com/v1', kind: 'Widget', metadata: { name: 'a' }, spec: { size: 1 } };
    expect((await send(second, widgets, { method: 'POST', body: JSON.stringify(widget) })).status).to.equal(201);
    expect((await send(first, `${widgets}/a`)).status).to.equal(200);
    await send(second, `${definitions}/${name}`, { method: 'DELETE' });
    for (const server of servers) await eventually(async () => !(await isServed(server)));
    for (const server of servers) {
      await eventually(async () => (await send(server, `${definitions}/${name}`)).status === 404);
    }
  });

  for (const hears of ['step by step', 'only once the definition is gone'])
    it(`a replica that receives the deletion of a definition ${hears} refuses a create that it planned earlier, with 503`, async () => {
      const [first, second] = servers as [ApiServer, ApiServer];
      const [, store] = stores as [ReplicaStore, ReplicaStore];
      const path = `${definitions}/${name}`;
      const serve = async (): Promise<void> => {
        await send(first, definitions, { method: 'POST', body: JSON.stringify(definition) });
        for (const server of servers) await eventually(() => isServed(server));
        await eventually(() => servers.every((server) => server.isIdle()));
      };
      await serve();
      const commit = gate();
      store.beforeCommit = commit.hold;
      const widget = { apiVersion: 'shop.example.com/v1', kind: 'Widget', metadata: { name: 'late' } };
      const late = send(second, widgets, { method: 'POST', body: JSON.stringify(widget) });
      await eventually(commit.isReached);
      store.isDeaf = hears !== 'step by step';
      await send(first, path, { method: 'DELETE' });
      await eventually(async () => (await send(first, path)).status === 404);
      store.isDeaf = false;
      store.hear(await store.currentRevision());
      // The follower of the second server waits some milliseconds for the delayed commit, so the test advances the
      // clock until the second server no longer has the definition.
      await eventually(async () => {
        await clock.advance(1_000);
        return (await send(second, `${path}?resourceVersion=0`)).status === 404;
      });
      store.beforeCommit = async () => undefined;
      commit.open();
      expect((await late).status).to.equal(503);
      for (const server of servers) await eventually(async () => !(await isServed(server)));
      expect((await send(second, widgets, { method: 'POST', body: JSON.stringify(widget) })).status).to.equal(404);
      await serve();
      const { items } = (await (await send(first, widgets)).json()) as { readonly items: readonly unknown[] };
      expect(items).to.deep.equal([]);
    });

  it('are deleted when their last object loses its finalizers; until then, a lagging server cannot create another object', async () => {
    const [first, second] = servers as [ApiServer, ApiServer];
    const [, store] = stores as [ReplicaStore, ReplicaStore];
    const path = `${definitions}/${name}`;
    const create = (server: ApiServer, metadata: object): Promise<Response> => {
      const body = JSON.stringify({ apiVersion: 'shop.example.com/v1', kind: 'Widget', metadata });
      return send(server, widgets, { method: 'POST', body });
    };
    await send(first, definitions, { method: 'POST', body: JSON.stringify(definition) });
    for (const server of servers) await eventually(() => isServed(server));
    await create(first, { name: 'slow', finalizers: ['example.com/wait'] });
    await eventually(() => servers.every((server) => server.isIdle()));
    const commit = gate();
    store.beforeCommit = commit.hold;
    const late = create(second, { name: 'late' });
    await eventually(commit.isReached);
    store.isDeaf = true;
    await send(first, path, { method: 'DELETE' });
    await eventually(async () => {
      const { metadata } = (await (await send(first, `${widgets}/slow`)).json()) as { metadata: object };
      return 'deletionTimestamp' in metadata && first.isIdle();
    });
    store.beforeCommit = async () => undefined;
    commit.open();
    const refusal = await late;
    expect(refusal.status).to.equal(405);
    expect(await refusal.text()).to.include(
      `create not allowed while custom resource definition ${name} is terminating`,
    );
    store.isDeaf = false;
    const slow = { apiVersion: 'shop.example.com/v1', kind: 'Widget', metadata: { name: 'slow' } };
    const put = { ...slow, metadata: { ...slow.metadata, finalizers: [] } };
    expect((await send(first, `${widgets}/slow`, { method: 'PUT', body: JSON.stringify(put) })).status).to.equal(200);
    for (const server of servers) {
      await eventually(async () => {
        await clock.advance(1_000);
        return (await send(server, path)).status === 404;
      });
    }
  });

  it('keep the new objects of a definition that was deleted and created again, even if a replica then commits a create that it planned before the deletion', async () => {
    const [first, second] = servers as [ApiServer, ApiServer];
    const [, store] = stores as [ReplicaStore, ReplicaStore];
    const path = `${definitions}/${name}`;
    const create = (server: ApiServer, widget: string): Promise<Response> => {
      const metadata = { name: widget };
      const body = JSON.stringify({ apiVersion: 'shop.example.com/v1', kind: 'Widget', metadata });
      return send(server, widgets, { method: 'POST', body });
    };
    const uidAt = async (server: ApiServer): Promise<unknown> => {
      const { metadata } = (await (await send(server, `${path}?resourceVersion=0`)).json()) as {
        readonly metadata: { readonly uid?: string };
      };
      return metadata.uid;
    };
    await send(first, definitions, { method: 'POST', body: JSON.stringify(definition) });
    for (const server of servers) await eventually(() => isServed(server));
    await eventually(() => servers.every((server) => server.isIdle()));
    const commit = gate();
    store.beforeCommit = commit.hold;
    const late = create(second, 'late');
    await eventually(commit.isReached);
    store.isDeaf = true;
    await send(first, path, { method: 'DELETE' });
    await eventually(async () => (await send(first, path)).status === 404);
    // `what` must read with `resourceVersion=0`, which never waits. Other reads may wait for a timer of the replica,
    // and the time of the test's clock passes only between two calls of `what`.
    const hears = (what: () => Promise<boolean>): Promise<boolean> =>
      eventually(async () => {
        store.hear(await store.currentRevision());
        await clock.advance(1_000);
        return what();
      });
    store.isDeaf = false;
    await hears(async () => (await send(second, `${path}?resourceVersion=0`)).status === 404);
    await send(first, definitions, { method: 'POST', body: JSON.stringify(definition) });
    await eventually(async () => (await create(first, 'new')).status === 201);
    const uid = await uidAt(first);
    await hears(async () => (await uidAt(second)) === uid);
    store.beforeCommit = async () => undefined;
    commit.open();
    await late;
    for (const server of servers) await eventually(() => isServed(server));
    await eventually(() => servers.every((server) => server.isIdle()));
    expect((await send(first, `${widgets}/new`)).status).to.equal(200);
    expect((await create(second, 'newer')).status).to.equal(201);
  });

  it('do not prevent the stop of a server, even when a kind waits for changes that cannot be read', async () => {
    const [first, second] = servers as [ApiServer, ApiServer];
    const store = stores[1] as ReplicaStore;
    const claims = store.claims.bind(store);
    let isWaiting = false;
    store.claims = async (kind) => {
      store.beforeChanges = () => Promise.reject(new StoreError('io', 'the connection was lost'));
      await send(first, '/api/v1/namespaces', {
        method: 'POST',
        body: JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ahead' } }),
      });
      isWaiting = true;
      return claims(kind);
    };
    await send(first, definitions, { method: 'POST', body: JSON.stringify(definition) });
    await eventually(() => isWaiting);
    let isStopped = false;
    void second.stop().then(() => (isStopped = true));
    await eventually(async () => {
      await clock.advance(1_000);
      return isStopped;
    });
    expect((await send(first, definitions)).status).to.equal(200);
  });
});
