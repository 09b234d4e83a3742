import { CustomObjectsApi, KubeConfig, makeInformer, Watch } from '@kubernetes/client-node';
import type { Informer, KubernetesListObject, KubernetesObject, ObjectCache } from '@kubernetes/client-node';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TcpProxy } from '../support/network/tcp-proxy.ts';
import { person, persons } from '../support/models/models.ts';
import { passCompactions } from '../support/servers/pass-time.ts';
import { SecureServer } from '../support/servers/secure-server.ts';

const kind = { group: 'people.example.com', version: 'v1alpha1', plural: 'persons' } as const;

interface Wire {
  readonly type: string;
  readonly object: { readonly code?: number; readonly metadata: KubernetesObject['metadata'] };
}

describe('client-node, watching over TLS with a token', () => {
  let clock: FakeClock;
  let server: SecureServer;
  let config: KubeConfig;

  beforeEach(async () => {
    // The clock starts at the present time, because the validity of certificates is checked by the system's clock.
    clock = new FakeClock(Date.now());
    server = await SecureServer.start({ clock, retention: { minAgeMs: 1_000, minChanges: 0 } });
    config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
  });

  afterEach(async () => server.stop());

  async function create(...names: readonly string[]): Promise<void> {
    const headers = authorization();
    for (const name of names) {
      expect((await server.http.post(persons, person(name), { headers })).status).to.equal(201);
    }
  }

  function authorization(): Record<string, string> {
    return { authorization: `Bearer ${config.getCurrentUser()!.token!}` };
  }

  async function revision(): Promise<string> {
    const list = (await server.http.get(persons, authorization())).body as KubernetesListObject<KubernetesObject>;
    return list.metadata!.resourceVersion!;
  }

  describe('by Watch [compat watch]', () => {
    let events: Wire[];
    let ends: unknown[];

    beforeEach(() => {
      events = [];
      ends = [];
    });

    async function watch(query: Record<string, string | boolean>): Promise<AbortController> {
      return new Watch(config).watch(
        persons,
        query,
        (type: string, object: Wire['object']) => void events.push({ type, object }),
        (error: unknown) => void ends.push(error),
      );
    }

    const summary = (): string[] => events.map(({ type, object }) => `${type} ${object.metadata?.name ?? ''}`.trim());

    it('receives each change after the given revision once, in order', async () => {
      await create('ann');
      const controller = await watch({ resourceVersion: await revision() });
      await create('bob');
      const headers = authorization();
      await server.http.patch(`${persons}/bob`, { spec: { age: 7 } }, { headers });
      await server.http.delete(`${persons}/ann`, { headers });
      await eventually(() => events.length === 3);
      expect(summary()).to.deep.equal(['ADDED bob', 'MODIFIED bob', 'DELETED ann']);
      controller.abort();
    });

    it('receives bookmarks when it requests them', async () => {
      await create('ann');
      const controller = await watch({ resourceVersion: await revision(), allowWatchBookmarks: true });
      await clock.advance(61_000);
      await eventually(() => events.length === 1);
      expect(events[0]).to.deep.include({ type: 'BOOKMARK' });
      expect(events[0]?.object.metadata?.resourceVersion).to.equal(await revision());
      controller.abort();
    });

    it('ends after timeoutSeconds, and gets 410 when its revision is compacted', async () => {
      await create('ann');
      const start = await revision();
      await watch({ resourceVersion: start, timeoutSeconds: '30' });
      await clock.advance(31_000);
      await eventually(() => ends.length === 1);
      expect(ends).to.deep.equal([null]);
      await create('bob', 'cem');
      await passCompactions(clock, 2);
      await watch({ resourceVersion: start });
      await eventually(() => ends.length === 2);
      expect(events.at(-1)).to.deep.include({ type: 'ERROR' });
      expect(events.at(-1)?.object.code).to.equal(410);
    });
  });

  describe('by makeInformer [compat informers]', () => {
    let lists: number;
    let connects: number;
    let seen: string[];
    let errors: unknown[];
    let informer: Informer<KubernetesObject> & ObjectCache<KubernetesObject>;

    beforeEach(async () => {
      [lists, connects, seen, errors] = [0, 0, [], []];
      const api = config.makeApiClient(CustomObjectsApi);
      informer = makeInformer<KubernetesObject>(config, persons, async () => {
        lists += 1;
        return (await api.listClusterCustomObject(kind)) as KubernetesListObject<KubernetesObject>;
      });
      for (const verb of ['add', 'update', 'delete'] as const) {
        informer.on(verb, ({ metadata }) => void seen.push(`${verb} ${metadata?.name}`));
      }
      informer.on('error', (error: unknown) => void errors.push(error));
      informer.on('connect', () => void (connects += 1));
      await create('ann');
      await informer.start();
    });

    afterEach(async () => {
      // The client library reports a stop as an error.
      expect(errors.filter((error) => (error as Error).name !== 'AbortError')).to.deep.equal([]);
      await informer.stop();
    });

    it('adds the existing objects, and follows changes', async () => {
      expect(seen).to.deep.equal(['add ann']);
      await create('bob');
      const headers = authorization();
      await server.http.patch(`${persons}/ann`, { spec: { age: 7 } }, { headers });
      await server.http.delete(`${persons}/bob`, { headers });
      await eventually(() => seen.length === 4);
      expect(seen).to.deep.equal(['add ann', 'add bob', 'update ann', 'delete bob']);
      expect(informer.get('ann')).to.deep.nested.include({ 'spec.age': 7 });
      expect(informer.list()).to.have.length(1);
    });

    it('continues after its last event, without another list, when the server ends its watch', async () => {
      await create('bob');
      await eventually(() => seen.length === 2);
      await clock.advance(61 * 60_000);
      await eventually(() => connects === 2);
      await create('cem');
      await eventually(() => seen.length === 3);
      expect(seen).to.deep.equal(['add ann', 'add bob', 'add cem']);
      expect(lists).to.equal(1);
    });

    it('continues after its last event, without another list, when its connection breaks', async () => {
      const proxy = await TcpProxy.start(server.http.api.url);
      const through = new KubeConfig();
      through.loadFromFile(server.kubeconfig);
      through.clusters = through.clusters.map((cluster) => ({ ...cluster, server: proxy.url.replace(/\/$/, '') }));
      const api = through.makeApiClient(CustomObjectsApi);
      const names: string[] = [];
      let listed = 0;
      const cut = makeInformer<KubernetesObject>(through, persons, async () => {
        listed += 1;
        return (await api.listClusterCustomObject(kind)) as KubernetesListObject<KubernetesObject>;
      });
      cut.on('add', ({ metadata }) => void names.push(metadata!.name!));
      // The client library does not restart an informer after an error.
      cut.on('error', (error: unknown) => void ((error as Error).name === 'AbortError' || cut.start()));
      await cut.start();
      proxy.down();
      await create('bob');
      proxy.up();
      await create('cem');
      await eventually(() => names.length === 3);
      expect(names).to.deep.equal(['ann', 'bob', 'cem']);
      expect(listed).to.equal(1);
      await cut.stop();
      await proxy.close();
    });

    it('lists again when its revision is compacted', async () => {
      await informer.stop();
      await create('bob', 'cem');
      await server.http.delete(`${persons}/ann`, { headers: authorization() });
      await passCompactions(clock, 2);
      await informer.start();
      await eventually(() => lists === 2);
      await eventually(() => seen.length === 4);
      expect(seen.toSorted()).to.deep.equal(['add ann', 'add bob', 'add cem', 'delete ann']);
      await create('dan');
      await eventually(() => informer.get('dan') !== undefined);
      expect(lists).to.equal(2);
    });
  });
});
