// A program that writes two files for test/upgrades.test.ts: a database of this version, and the data that a server of
// a later version must return from this database. Run it with
// node test/dist/upgrades/write-fixture.js test/upgrades/schema-<version>
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { defineModel } from '@homeostat/controller-runtime/api';
import { comparedPaths, upgradedMachine, machinesPath } from './upgraded-model.ts';

const configMap = defineModel({
  gvk: 'v1/ConfigMap',
  plural: 'configmaps',
  scope: 'Namespaced',
  schema: { type: 'object', properties: { data: { type: 'object', additionalProperties: { type: 'string' } } } },
});

/**
 * The data that a server must return from the database of a former version: the events of a watch, and the lists that
 * the server of that version returned last.
 */
export interface Recorded {
  /** A watch from this revision receives `events` in this order. */
  readonly since: string;
  readonly events: readonly (readonly [type: string, name: string])[];
  readonly lists: Readonly<Record<string, readonly object[]>>;
}

/** Creates, updates and deletes objects, and creates an object again with the name of a deleted one. */
async function write({ client }: ApiServer): Promise<Pick<Recorded, 'since' | 'events'>> {
  const create = (at: number, size: number): Promise<unknown> =>
    client.create(upgradedMachine, {
      metadata: { name: `m-${at}`, labels: { size: String(size) } },
      spec: { slug: `slug-${at}`, size, note: `ünïcode ${'n'.repeat(at * 20)}` },
    });
  for (let at = 0; at < 12; at += 1) await create(at, at);
  await client.create(configMap, { metadata: { name: 'kept', namespace: 'default' }, data: { key: 'value' } });
  await client.delete(upgradedMachine, 'm-3');
  const { metadata } = await client.list(upgradedMachine);
  const since = metadata.resourceVersion ?? '';
  await client.patch(upgradedMachine, 'm-1', { type: 'merge', patch: { spec: { size: 100 } } });
  await client.patch(upgradedMachine, 'm-1', { type: 'merge', patch: { spec: { size: 101 } } });
  await client.delete(upgradedMachine, 'm-2');
  await create(3, 33);
  await client.patch(upgradedMachine, 'm-4', { type: 'merge', patch: { spec: { slug: 'slug-2' } } });
  const events = [
    ['MODIFIED', 'm-1'],
    ['MODIFIED', 'm-1'],
    ['DELETED', 'm-2'],
    ['ADDED', 'm-3'],
    ['MODIFIED', 'm-4'],
  ] as const;
  return { since, events };
}

async function readLists(url: string): Promise<Recorded['lists']> {
  const lists = await Promise.all(
    comparedPaths.map(async (path) => {
      const { items } = (await (await fetch(url + path)).json()) as { readonly items: readonly object[] };
      return [path, items] as const;
    }),
  );
  return Object.fromEntries(lists);
}

const [target = ''] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'homeostat-fixture-'));
const path = join(folder, 'homeostat.db');
await copyFile(join(target, '..', 'encryption.key'), join(folder, 'encryption.key'));
const server = await startApiServer({ database: `sqlite:${path}`, port: 0 });
server.schemeManager.register(upgradedMachine);
await server.whenReady(upgradedMachine);
const recorded: Recorded = { ...(await write(server)), lists: await readLists(server.url) };
await server.stop();
await writeFile(`${target}.db.gz`, gzipSync(await readFile(path), { level: 9 }));
await writeFile(`${target}.json.gz`, gzipSync(JSON.stringify(recorded), { level: 9 }));
await rm(folder, { recursive: true });
console.log(`${recorded.lists[machinesPath]?.length} machines`);
