import { chmod, copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { inspectDatabase, startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { comparedPaths, upgradedMachine, machinesPath } from './upgrades/upgraded-model.ts';
import type { Recorded } from './upgrades/write-fixture.ts';
import { WatchReader } from './support/network/watch-reader.ts';

const fixtures = fileURLToPath(new URL('../upgrades', import.meta.url));

interface Stored {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly resourceVersion: string };
}

function newMachine(name: string, slug: string): object {
  return { apiVersion: 'upgrades.example.com/v1', kind: 'Machine', metadata: { name }, spec: { slug, size: 1 } };
}

/** Returns the object without `managedFields`: the only field that a newer version of the server may change. */
function apart(object: object): unknown {
  const { metadata, ...rest } = object as Stored;
  const { managedFields: _, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

/** The recorded files: one for each schema version of the SQLite store, written by a program of that version. */
describe('a SQLite database of a former version [spec experience-upgrades]', () => {
  let folder: string;
  let server: ApiServer;

  const path = (): string => join(folder, 'homeostat.db');

  async function start(): Promise<void> {
    server = await startApiServer({ database: `sqlite:${path()}`, port: 0, logger: silentLogger });
    server.schemeManager.register(upgradedMachine);
    await server.whenReady(upgradedMachine);
  }

  async function itemsOf(at: string): Promise<readonly Stored[]> {
    const { items } = (await (await fetch(server.url + at)).json()) as { readonly items: readonly Stored[] };
    return items;
  }

  async function send(
    method: string,
    at: string,
    body: object,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await fetch(server.url + at, {
      method,
      headers: { 'Content-Type': type },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  }

  async function unpack(version: number): Promise<Recorded> {
    const read = async (name: string): Promise<Buffer> =>
      gunzipSync(await readFile(join(fixtures, `schema-${version}.${name}.gz`)));
    await writeFile(path(), await read('db'), { mode: 0o600 });
    await copyFile(join(fixtures, 'encryption.key'), join(folder, 'encryption.key'));
    await chmod(join(folder, 'encryption.key'), 0o600);
    return JSON.parse((await read('json')).toString()) as Recorded;
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-upgrade-'));
  });

  afterEach(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function expectEverything({ lists }: Recorded): Promise<void> {
    for (const at of comparedPaths) {
      const recorded = lists[at] ?? [];
      const names = new Set(recorded.map((object) => (object as Stored).metadata.name));
      expect(recorded.length, at).to.be.above(0);
      // Only the recorded objects are compared, because a newer version may add objects. The content of cluster roles
      // is not compared, because a newer version may extend its roles.
      const found = (await itemsOf(at)).filter(({ metadata }) => names.has(metadata.name));
      if (at.includes('clusterroles')) expect(found.length, at).to.equal(recorded.length);
      else expect(found.map(apart), at).to.deep.equal(recorded.map(apart));
    }
  }

  async function expectWatch({ since, events }: Recorded): Promise<void> {
    const port = Number(new URL(server.url).port);
    const watch = await WatchReader.open({ port }, `${machinesPath}?watch=true&resourceVersion=${since}`);
    try {
      await watch.count(events.length);
      const seen = watch.events.map(({ type, object }) => [type, (object as Stored).metadata.name]);
      expect(seen.slice(0, events.length)).to.deep.equal(events);
    } finally {
      watch.close();
    }
  }

  /**
   * Checks writes after the upgrade. For a unique index, the server refuses a value that an object from before the
   * upgrade has, and accepts a free value. Updates and deletions of objects succeed.
   */
  async function expectWrites(): Promise<void> {
    const taken = await send('POST', machinesPath, newMachine('new', 'slug-2'));
    expect([taken.status, taken.text.includes('held by Machine')], taken.text).to.deep.equal([422, true]);
    expect((await send('POST', machinesPath, newMachine('m-2', 'slug-4'))).status).to.equal(201);
    expect((await send('PATCH', `${machinesPath}/m-1`, { spec: { size: 102 } })).status).to.equal(200);
    expect((await send('DELETE', `${machinesPath}/m-5`, {})).status).to.equal(200);
    const small = await itemsOf(`${machinesPath}?fieldSelector=spec.size=102`);
    expect(small.map(({ metadata }) => metadata.name)).to.deep.equal(['m-1']);
  }

  for (const [version, tier] of [
    [1, ''],
    [2, ' [slow]'],
    [3, ' [slow]'],
  ] as const)
    it(`with schema version ${version} is upgraded: reads, a resumed watch, writes and a restart work${tier}`, async () => {
      const recorded = await unpack(version);
      const { schema, knownSchema } = await inspectDatabase(`sqlite:${path()}`);
      expect(schema).to.equal(version);
      await start();
      await expectEverything(recorded);
      await expectWatch(recorded);
      await expectWrites();
      const before = (await itemsOf(machinesPath)).map(apart);
      await server.stop();
      expect(await inspectDatabase(`sqlite:${path()}`)).to.include({ schema: knownSchema, unreadableObjects: 0 });
      await start();
      expect((await itemsOf(machinesPath)).map(apart)).to.deep.equal(before);
      await expectWatch(recorded);
    });

  it('has a recorded file for each schema version of the SQLite store', async () => {
    await unpack(1);
    const { knownSchema } = await inspectDatabase(`sqlite:${path()}`);
    const files = (await readdir(fixtures)).filter((name) => name.endsWith('.db.gz')).sort();
    expect(files).to.deep.equal(Array.from({ length: knownSchema }, (_, at) => `schema-${at + 1}.db.gz`));
    await start();
  });
});
