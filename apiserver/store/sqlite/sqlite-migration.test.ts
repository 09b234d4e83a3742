import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { openDatabase } from './sqlite-binding.ts';
import { createMeta, migrations } from './sqlite-tables.ts';
import { createSqliteStore } from './sqlite-store.ts';
import { versionOneFile } from './version-one.fixture.ts';
import { committed, readable, rejectionOf, scanned, text } from '../store-operations.fixture.ts';
import type { Store } from '../store.ts';

const directory = mkdtempSync(join(tmpdir(), 'homeostat-migration-'));
const persons = 1;
const notes = 2;
const email = 3;

const person = (name: string): string => `/registry/example.com/persons/default/${name}`;
const note = (name: string): string => `/registry/example.com/notes/default/${name}`;

after(() => rmSync(directory, { recursive: true, force: true }));

async function withStore(path: string, body: (store: Store) => Promise<void>): Promise<void> {
  const store = createSqliteStore({ path });
  try {
    await store.open();
    await body(store);
  } finally {
    await store.close();
  }
}

/** Writes a database of version 1 with many objects, half of which have changed after compactRevision. */
async function writeVersionOne(path: string, objects: number): Promise<void> {
  const database = await openDatabase(path);
  database.exec(`${createMeta};${migrations[0] ?? ''}; INSERT INTO meta (name, value) VALUES ('schema', 1);
    INSERT INTO kv (kind, key, revision, data)
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${objects})
      SELECT 1, printf('/registry/g/p/%06d', n * 7919 % ${objects}), n, randomblob(1000) FROM n;
    INSERT INTO log (revision, op, kind, key, data, previous, previous_revision)
      SELECT revision + ${objects}, 1, 1, key, randomblob(1000), data, revision FROM kv WHERE id % 2 = 0;
    UPDATE kv SET revision = revision + ${objects}, data = (SELECT data FROM log WHERE log.revision = kv.revision + ${objects})
      WHERE id % 2 = 0;
    UPDATE meta SET value = ${objects} WHERE name = 'compactRevision';
    UPDATE counter SET revision = (SELECT max(revision) FROM log);`);
  database.close();
}

/**
 * Returns all objects and changes of a database that was written in version 1. `version` is 1 before the migration, and
 * 2 after it, when the database has the tables of version 2 or later.
 */
async function contentOf(path: string, version: 1 | 2, after: number): Promise<unknown> {
  const database = await openDatabase(path);
  const present = `SELECT revision FROM history EXCEPT SELECT previous FROM history`;
  const [rows, changes] =
    version === 1
      ? [
          'SELECT key, revision, hex(data) AS data FROM kv ORDER BY revision',
          'SELECT revision, key, hex(data) AS data, hex(previous) AS previous, previous_revision FROM log ORDER BY revision',
        ]
      : [
          `SELECT key, revision, hex(data) AS data FROM history WHERE revision IN (${present}) ORDER BY revision`,
          `SELECT a.revision, a.key, hex(a.data) AS data, hex(b.data) AS previous, b.revision AS previous_revision
             FROM history a JOIN history b ON b.revision = a.previous WHERE a.revision > ${after} ORDER BY a.revision`,
        ];
  const content = { rows: database.prepare(rows).all(), changes: database.prepare(changes).all() };
  database.close();
  return JSON.stringify(content);
}

/** Opens a database in another process, which is killed once the write-ahead log has this number of bytes. */
async function killMigration(path: string, bytes: number): Promise<void> {
  const script = `import { createSqliteStore } from ${JSON.stringify(new URL('./sqlite-store.js', import.meta.url))};
    await createSqliteStore({ path: ${JSON.stringify(path)} }).open();
    process.stdout.write('opened'); setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, [...process.execArgv, '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let isOpened = false;
  child.stdout.on('data', () => (isOpened = true));
  const exited = once(child, 'exit');
  const walBytes = (): number => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  while (walBytes() < bytes && !isOpened && child.exitCode === null && child.signalCode === null)
    await new Promise((done) => setImmediate(done));
  child.kill('SIGKILL');
  await exited;
  expect(isOpened, 'the migration was over before the kill').to.equal(false);
}

describe('migration of a database of version 1', () => {
  it('keeps objects, history, unique values, names and the epoch', async () => {
    const path = join(directory, 'fixture.db');
    writeFileSync(path, versionOneFile());
    const store = createSqliteStore({ path });
    const opened = await store.open();
    expect(opened).to.deep.equal({
      revision: 38,
      compactRevision: 26,
      epoch: '840018e4-636c-43f9-9a96-3ae1a4d17617',
    });
    const kinds = ['kind:example.com/persons', 'kind:example.com/notes', 'index:example.com/persons/email'];
    expect(await Promise.all(kinds.map((name) => store.numberOf(name)))).to.deep.equal([persons, notes, email]);
    const rows = await scanned(store);
    const changed: Readonly<Record<string, readonly [number, string]>> = {
      'p-1': [30, '{"name":"updated twice"}'],
      'p-2': [28, '{"name":"updated once"}'],
      'p-3': [33, '{"name":"created again"}'],
    };
    const expected = Array.from({ length: 20 }, (_, n) => `p-${n}`)
      .filter((name) => name !== 'p-4')
      .map((name, at) => {
        const [revision, data] = changed[name] ?? [at < 4 ? at + 1 : at + 2, `{"name":"person ${name.slice(2)}"}`];
        return { key: person(name), revision, data };
      });
    const others = [
      { key: note('again'), revision: 29, data: 'second, with ünïcode' },
      { key: note('empty'), revision: 35, data: '' },
      { key: note('kept'), revision: 21, data: '{"text":"never changed"}' },
      { key: note('large'), revision: 36, data: 'y'.repeat(9000) },
    ];
    const byKey = [...expected, ...others].sort((a, b) => (a.key < b.key ? -1 : 1));
    expect(rows.map(({ key, revision, data }) => ({ key, revision, data: text(data) }))).to.deep.equal(byKey);
    await expectHistory(store);
    await expectClaims(store);
    await store.close();
  });

  it('lets the store write, compact and restart afterwards as with any other database', async () => {
    const path = join(directory, 'continued.db');
    writeFileSync(path, versionOneFile());
    await withStore(path, async (store) => {
      const update = { op: 'update', key: person('p-1'), kind: persons, data: new Uint8Array(3) } as const;
      const [stale, missing, next] = await committed(store, [
        { ...update, expect: 27 },
        { ...update, key: person('p-4'), expect: 32 },
        { ...update, key: person('p-2'), expect: 28 },
      ]);
      expect([stale, missing, next]).to.deep.equal([
        { conflict: 'revision' },
        { conflict: 'notFound' },
        { revision: 39 },
      ]);
      const before = await scanned(store);
      expect(await store.compact(39, 1000)).to.equal(13);
      expect(await scanned(store)).to.deep.equal(before);
    });
    await withStore(path, async (store) => {
      expect(await scanned(store)).to.have.lengthOf(23);
      expect(await store.changes(39, 10)).to.deep.equal([]);
    });
    const database = await openDatabase(path);
    expect(database.prepare('SELECT count(*) AS rows FROM history').get()).to.deep.include({ rows: 23 });
    database.close();
  });

  it('loses nothing when three processes in a row are killed during the migration [slow]', async () => {
    const path = join(directory, 'killed.db');
    const objects = 30_000;
    await writeVersionOne(path, objects);
    const before = await contentOf(path, 1, objects);
    for (const bytes of [1, 2 ** 20, 2 ** 22]) await killMigration(path, bytes);
    await withStore(path, async (store) => {
      expect(await store.currentRevision()).to.equal(objects * 2);
      expect(await rejectionOf(store.changes(objects - 1, 1))).to.include({ compactRevision: objects });
    });
    expect((await contentOf(path, 2, objects)) === before).to.equal(true);
  });
});

async function expectHistory(store: Store): Promise<void> {
  expect(await rejectionOf(store.changes(25, 1))).to.include({ compactRevision: 26 });
  const changes = (await store.changes(26, 100)).map(readable) as readonly { readonly revision: number }[];
  expect(changes.map(({ revision }) => revision)).to.deep.equal(Array.from({ length: 12 }, (_, at) => at + 27));
  const at = (revision: number): unknown => changes[revision - 27];
  const one = { kind: persons, key: person('p-1') };
  expect(at(27)).to.deep.equal({
    ...one,
    revision: 27,
    op: 'update',
    data: '{"name":"updated"}',
    previous: { revision: 24, data: '{"name":"updated before"}' },
  });
  expect(at(30)).to.deep.equal({
    ...one,
    revision: 30,
    op: 'update',
    data: '{"name":"updated twice"}',
    previous: { revision: 27, data: '{"name":"updated"}' },
  });
  const lastPerson = { revision: 5, data: '{"name":"person 4"}' };
  expect(at(32)).to.deep.equal({
    kind: persons,
    key: person('p-4'),
    revision: 32,
    op: 'delete',
    data: 'its last state',
    previous: lastPerson,
  });
  const empty = { kind: notes, key: note('last'), previous: { revision: 37, data: '' } };
  expect(at(38)).to.deep.equal({ ...empty, revision: 38, op: 'delete', data: '' });
}

async function expectClaims(store: Store): Promise<void> {
  const { claims, ...rest } = await store.claims(persons);
  expect(rest).to.deep.equal({ generation: 1, indexes: [email], revision: 38 });
  const numbers = Array.from({ length: 20 }, (_, n) => n).filter((n) => n !== 4);
  const expected = numbers.map((n) => {
    return { index: email, value: n === 2 ? '=new@example.com' : `=${n}@example.com`, key: person(`p-${n}`) };
  });
  expect(claims.map((claim) => ({ ...claim }))).to.have.deep.members(expected);
}
