import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { freePort, KillableServer } from './support/killable-server.ts';
import { machine, machines, newMachine } from './support/models.ts';
import { TestDatabase } from './support/postgres-server.ts';
import { thingsPath } from './support/restart-model.ts';
import { TestServer } from './support/test-server.ts';
import { WatchReader } from './support/watch-reader.ts';

const dependents = 600;

interface ThingJson {
  readonly metadata: { readonly name: string; readonly uid: string; readonly ownerReferences?: readonly object[] };
}

async function send(url: string, method: string, body: object): Promise<ThingJson> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as ThingJson;
}

function thing(name: string, owner?: ThingJson): object {
  const [apiVersion, kind] = ['things.example.com/v1', 'Thing'];
  const { name: ownerName, uid } = owner?.metadata ?? {};
  const ownerReferences = [{ apiVersion, kind, name: ownerName, uid, blockOwnerDeletion: true }];
  const metadata = owner === undefined ? { name } : { name, ownerReferences };
  return { apiVersion, kind, metadata, spec: { slug: name, round: 1 } };
}

async function list(url: string): Promise<readonly ThingJson[]> {
  return ((await (await fetch(url + thingsPath)).json()) as { items: ThingJson[] }).items;
}

describe('garbage collection across SIGKILL', () => {
  let folder: string;
  let server: KillableServer | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-collection-'));
  });

  afterEach(async () => {
    await server?.kill();
    await rm(folder, { recursive: true });
  });

  for (const policy of ['Background', 'Foreground', 'Orphan']) {
    it(`${policy}: what was begun is finished after the restart`, async function () {
      this.timeout(60_000);
      const [file, port] = [join(folder, 'test.db'), await freePort()];
      server = await KillableServer.start(file, port);
      const { url } = server;
      const owner = await send(url + thingsPath, 'POST', thing('owner'));
      const names = Array.from({ length: dependents }, (_, at) => `d${at}`);
      await Promise.all(names.map(async (name) => send(url + thingsPath, 'POST', thing(name, owner))));
      // The first dependent that is changed or gone is the moment.
      let killed: Promise<void> | undefined;
      const onEvent = ({ object }: { object: ThingJson }): void => {
        if (object.metadata.name !== 'owner') killed ??= server?.kill();
      };
      const { metadata } = (await (await fetch(`${url}${thingsPath}?size=1`)).json()) as {
        metadata: { resourceVersion: string };
      };
      const path = `${thingsPath}?watch=true&resourceVersion=${metadata.resourceVersion}`;
      const watch = await WatchReader.open({ port }, path, {}, { onEvent, onClosed: () => undefined });
      await fetch(`${url}${thingsPath}/owner?propagationPolicy=${policy}`, { method: 'DELETE' }).catch(() => undefined);
      await eventually(() => killed !== undefined);
      await killed;
      await eventually(() => watch.closed);
      const seen = watch.events.filter(({ object }) => object.metadata.name !== 'owner').length;
      expect(seen, 'dependents that were reached').to.be.within(1, dependents - 1);

      server = await KillableServer.start(file, port);
      const left = policy === 'Orphan' ? dependents : 0;
      await eventually(
        async () => {
          const items = await list(url);
          return items.length === left && items.every((each) => each.metadata.ownerReferences === undefined);
        },
        { timeoutMs: 20_000, describe: `the end of ${policy}` },
      );
    });
  }
});

describe('garbage collection of two servers on one database', () => {
  let database: TestDatabase | undefined;
  let servers: readonly TestServer[] = [];

  before(async function () {
    database = await TestDatabase.create();
    if (database === undefined) return this.skip();
    const { url } = database;
    servers = await Promise.all([0, 1].map(async () => TestServer.start({ database: url })));
  });

  after(async () => {
    await Promise.all(servers.map(async (server) => server.stop()));
    await database?.drop();
  });

  /** An owner and its dependents, each by the server that has its turn. */
  async function makeFamily(prefix: string, blockOwnerDeletion: boolean): Promise<void> {
    const [first] = servers as [TestServer];
    const { apiVersion, kind, metadata } = await first.create(machines, newMachine(prefix));
    const ownerReferences = [{ apiVersion, kind, name: prefix, uid: metadata.uid, blockOwnerDeletion }];
    const names = Array.from({ length: 60 }, (_, at) => `${prefix}-${at}`);
    const create = async (name: string, at: number): Promise<unknown> =>
      servers[at % 2]?.create(machines, { ...newMachine(''), metadata: { name, ownerReferences } });
    await Promise.all(names.map(create));
  }

  const settled = async (): Promise<void> => {
    for (const server of servers) await eventually(() => server.api.isIdle());
  };

  it('deletes each dependent once, before the owner, whoever is asked', async () => {
    const [first, second] = servers as [TestServer, TestServer];
    await makeFamily('f', true);
    const revision = await first.revision(machines);
    const watch = await first.watch(`${machines}?watch=true&resourceVersion=${revision}`);
    await second.delete(`${machines}/f?propagationPolicy=Foreground`);
    const isOver = (): boolean => watch.summary.includes('DELETED f');
    await eventually(isOver);
    for (const server of servers) expect((await server.get(machines)).body.total).to.equal(0);
    const deleted = watch.summary.filter((event) => event.startsWith('DELETED'));
    expect(deleted).to.have.length(61);
    expect(new Set(deleted).size).to.equal(61);
    expect(deleted.at(-1)).to.equal('DELETED f');
  });

  it('takes each reference away once, and deletes no dependent', async () => {
    const [first, second] = servers as [TestServer, TestServer];
    await makeFamily('o', false);
    await second.delete(`${machines}/o?propagationPolicy=Orphan`);
    await eventually(async () => (await first.get(`${machines}/o`)).status === 404);
    await settled();
    const { items } = (await second.get(machines)).body as {
      items: { metadata: { version: number; ownerReferences?: object } }[];
    };
    expect(items).to.have.length(60);
    expect(items.filter(({ metadata }) => metadata.ownerReferences !== undefined)).to.deep.equal([]);
    expect(new Set(items.map(({ metadata }) => metadata.version))).to.deep.equal(new Set([2]));
  });

  it('collects what depends on an owner that went while its kind was not served here', async () => {
    const [first, second] = servers as [TestServer, TestServer];
    for (const server of servers) await server.delete(machines);
    await settled();
    await makeFamily('away', false);
    await settled();
    second.api.schemeManager.unregister(machine, 'service');
    await first.delete(`${machines}/away`);
    await eventually(async () => (await first.get(machines)).body.total === 0);
    second.api.schemeManager.register(machine);
    await second.api.whenReady(machine);
    await settled();
    expect((await second.get(machines)).body.total).to.equal(0);
  });
});
