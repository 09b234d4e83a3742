import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { demoPerson, demoPersons, newDemoPerson } from './support/models/demo-person.ts';
import { KillableServer } from './support/servers/killable-server.ts';
import { letter, letters as allLetters, machine, machines, newLetter, newMachine } from './support/models/models.ts';
import { thingsPath } from './support/models/restart-model.ts';
import type { TestServer } from './support/servers/test-server.ts';
import { describeTwoServers } from './support/servers/two-servers.ts';
import { WatchReader } from './support/network/watch-reader.ts';

const dependents = 600;
const letters = allLetters.replace('letters', 'namespaces/default/letters');

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

describe('garbage collection after a SIGKILL of the server [slow]', () => {
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
    it(`${policy}: a deletion that was interrupted is completed after the restart`, async () => {
      const file = join(folder, 'test.db');
      server = await KillableServer.start(file);
      const { url } = server;
      const owner = await send(url + thingsPath, 'POST', thing('owner'));
      const names = Array.from({ length: dependents }, (_, at) => `d${at}`);
      await Promise.all(names.map(async (name) => send(url + thingsPath, 'POST', thing(name, owner))));
      // The server is killed when the first dependent is changed or deleted.
      let killed: Promise<void> | undefined;
      const onEvent = ({ object }: { object: ThingJson }): void => {
        if (object.metadata.name !== 'owner') killed ??= server?.kill();
      };
      const { metadata } = (await (await fetch(`${url}${thingsPath}?size=1`)).json()) as {
        metadata: { resourceVersion: string };
      };
      const path = `${thingsPath}?watch=true&resourceVersion=${metadata.resourceVersion}`;
      const target = { port: Number(new URL(url).port) };
      const watch = await WatchReader.open(target, path, {}, { onEvent, onClosed: () => undefined });
      await fetch(`${url}${thingsPath}/owner?propagationPolicy=${policy}`, { method: 'DELETE' }).catch(() => undefined);
      await eventually(() => killed !== undefined);
      await killed;
      await eventually(() => watch.closed);
      const seen = watch.events.filter(({ object }) => object.metadata.name !== 'owner').length;
      expect(seen, 'dependents that were reached').to.be.within(1, dependents - 1);

      const restarted = await KillableServer.start(file);
      server = restarted;
      const left = policy === 'Orphan' ? dependents : 0;
      await eventually(
        async () => {
          const items = await list(restarted.url);
          return items.length === left && items.every((each) => each.metadata.ownerReferences === undefined);
        },
        { timeoutMs: 20_000, describe: `the end of ${policy}` },
      );
    });
  }
});

describeTwoServers('garbage collection of two servers on one database', (servers) => {
  /** Creates an owner on the first server, and its dependents on alternating servers. */
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

  it('deletes each dependent once, and then the owner, with the policy Foreground', async () => {
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

  it('removes the owner reference of each dependent once, and deletes no dependent, with the policy Orphan [slow]', async () => {
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

  /**
   * Creates a machine, and a letter that depends on the machine and blocks its deletion. Waits until both servers have
   * them.
   */
  async function makeLetter(metadata: object): Promise<void> {
    const [first] = servers as [TestServer];
    const { apiVersion, kind, metadata: owner } = await first.create(machines, newMachine('owner'));
    const ownerReferences = [{ apiVersion, kind, name: 'owner', uid: owner.uid, blockOwnerDeletion: true }];
    await first.create(letters, { ...newLetter('x'), metadata: { name: 'owned', ownerReferences, ...metadata } });
    for (const server of servers) await server.get(letters);
    await settled();
  }

  async function serve({ api }: TestServer, model: ModelDescriptor): Promise<void> {
    api.schemeManager.register(model);
    await api.whenReady(model);
  }

  it("collects a dependent whose owner was deleted while one server lacked the dependent's kind, and the other lacked the owner's kind", async () => {
    const [first, second] = servers as [TestServer, TestServer];
    await makeLetter({});
    first.api.schemeManager.unregister(letter, 'service');
    second.api.schemeManager.unregister(machine, 'service');
    await first.delete(`${machines}/owner`);
    await settled();
    expect((await second.get(letters)).body.total).to.equal(1);
    await serve(second, machine);
    await settled();
    expect((await second.get(letters)).body.total).to.equal(0);
    await serve(first, letter);
  });

  it('keeps an owner until its dependent is gone, although only the other server has served the kind of the dependent', async () => {
    const [first, second] = servers as [TestServer, TestServer];
    await first.create(machines, newMachine('before'));
    await first.delete(`${machines}/before?propagationPolicy=Foreground`);
    await settled();
    await serve(second, demoPerson);
    const { apiVersion, kind, metadata: owner } = await first.create(machines, newMachine('far'));
    const ownerReferences = [{ apiVersion, kind, name: 'far', uid: owner.uid, blockOwnerDeletion: true }];
    await second.create(demoPersons, newDemoPerson('held', {}, { ownerReferences, finalizers: ['hold'] }));
    await first.delete(`${machines}/far?propagationPolicy=Foreground`);
    await settled();
    expect((await first.get(`${machines}/far`)).status).to.equal(200);
    await second.patch(`${demoPersons}/held`, { metadata: { finalizers: null } });
    await eventually(async () => (await first.get(`${machines}/far`)).status === 404);
  });

  it('removes an owner (policy Foreground) whose last dependent was removed while one server served only the kind of the owner, and the other only the kind of the dependent', async () => {
    const [first, second] = servers as [TestServer, TestServer];
    await makeLetter({ finalizers: ['hold'] });
    await first.delete(`${machines}/owner?propagationPolicy=Foreground`);
    await settled();
    first.api.schemeManager.unregister(letter, 'service');
    second.api.schemeManager.unregister(machine, 'service');
    await second.patch(`${letters}/owned`, { metadata: { finalizers: null } });
    expect((await second.get(letters)).body.total).to.equal(0);
    await settled();
    expect((await first.get(`${machines}/owner`)).status).to.equal(200);
    await serve(first, letter);
    await settled();
    expect((await first.get(`${machines}/owner`)).status).to.equal(404);
    await serve(second, machine);
  });
});
