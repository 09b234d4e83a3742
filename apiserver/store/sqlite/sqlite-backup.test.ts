import { existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { backUpDatabase } from './sqlite-backup.ts';
import { openDatabase, type SqlDatabase } from './sqlite-binding.ts';
import { sqliteSchema } from './sqlite-schema.ts';
import { createSqliteStore, type SqliteStore } from './sqlite-store.ts';
import { bytes, create, key, kind, rejectionOf, scanned, text, written } from '../store-operations.fixture.ts';

/** The data of an object: so large that the copy of 500 objects takes several steps. */
const large = 'x'.repeat(20_000);

describe('a backup of SQLite', () => {
  const directory = mkdtempSync(join(tmpdir(), 'homeostat-backup-'));
  const path = join(directory, 'homeostat.db');
  const restoredPath = join(directory, 'restored.db');
  let store: SqliteStore;
  let epoch: string;

  before(async () => {
    store = createSqliteStore({ path });
    ({ epoch } = await store.open());
  });

  after(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** Opens the restored backup as a store, and calls `body` with it. */
  async function restored<V>(
    body: (copy: SqliteStore, opened: Awaited<ReturnType<SqliteStore['open']>>) => Promise<V>,
  ): Promise<V> {
    const copy = createSqliteStore({ path: restoredPath });
    try {
      return await body(copy, await copy.open());
    } finally {
      await copy.close();
    }
  }

  it('contains every write that was acknowledged before it began, and later writes without gaps', async () => {
    for (let at = 0; at < 500; at += 1) await written(store, create(`before-${at}`, large));
    let isOver = false;
    let acknowledged = 0;
    const writing = (async () => {
      while (!isOver) await written(store, create(`later-${acknowledged++}`, large));
    })();
    const made = await store.backUp?.();
    isOver = true;
    await writing;
    expect(acknowledged, 'writes during the copy').to.be.above(1);
    expect(made).to.equal(`${path}-backup`);
    expect(statSync(`${path}-backup`).mode & 0o777).to.equal(0o600);
    for (const suffix of ['-wal', '-shm', '-journal'])
      expect(existsSync(`${path}-backup${suffix}`), suffix).to.equal(false);
    renameSync(`${path}-backup`, restoredPath);
    expect(await sqliteSchema(restoredPath), 'no damage').to.have.property('stored');
    await restored(async (copy) => {
      const names = (await scanned(copy)).map((row) => row.key);
      for (let at = 0; at < 500; at += 1) expect(names).to.include(key(`before-${at}`));
      const later = names.filter((name) => name.includes('later-')).length;
      for (let at = 0; at < later; at += 1) expect(names).to.include(key(`later-${at}`));
    });
  });

  it('starts a new history when it is restored, far above the old revisions, so that no revision is assigned twice', async () => {
    const seen = await store.currentRevision();
    const [revision = 0] = await restored(async (copy, opened) => {
      expect(opened.epoch).to.not.equal(epoch);
      expect(await rejectionOf(copy.changes(seen, 1))).to.have.property('name', 'CompactedError');
      return written(copy, create('after', 'restored'));
    });
    expect(revision).to.be.above(seen + 500_000);
    await restored(async (copy, opened) => {
      expect(opened.revision).to.equal(revision);
      const changes = await copy.changes(revision - 1, 10);
      expect(changes.map(({ data }) => text(data))).to.deep.equal(['restored']);
      expect(await copy.compact(revision, 10)).to.equal(1);
    });
  });

  it('contains the current state of each object, and no deleted object [slow]', async () => {
    const [first = 0] = await written(store, create('changed', 'one'), create('deleted', 'gone'));
    const target = { key: key('changed'), kind };
    await written(store, { op: 'update', ...target, expect: first, data: bytes('two') });
    await written(store, { op: 'delete', key: key('deleted'), kind, expect: first + 1 });
    renameSync((await store.backUp?.()) ?? '', restoredPath);
    await restored(async (copy) => {
      const rows = await scanned(copy);
      expect(rows.find((row) => row.key === key('changed'))).to.deep.include({ data: bytes('two') });
      expect(rows.filter((row) => row.key === key('deleted'))).to.deep.equal([]);
    });
  });

  it('fails with the StoreError code "locked" while the file of another backup exists; the next start of the store deletes that file', async () => {
    writeFileSync(`${path}-backup`, 'half');
    expect(await rejectionOf(store.backUp?.() ?? Promise.resolve())).to.include({ code: 'locked' });
    expect(existsSync(`${path}-backup`), 'the file of another backup').to.equal(true);
    await store.close();
    store = createSqliteStore({ path });
    await store.open();
    expect(existsSync(`${path}-backup`)).to.equal(false);
  });

  it('is aborted before its next step when the store is closed, and leaves no file behind', async () => {
    const ending = rejectionOf(store.backUp?.() ?? Promise.resolve());
    await store.close();
    expect(await ending).to.include({ name: 'StoreError', code: 'closed' });
    expect(existsSync(`${path}-backup`)).to.equal(false);
    store = createSqliteStore({ path });
    await store.open();
  });

  it('is made in one step when the backup function of Node fails', async () => {
    const source = await openDatabase(join(directory, 'source.db'));
    const copyPath = join(directory, 'copy.db');
    try {
      source.exec('CREATE TABLE meta (name TEXT PRIMARY KEY, value); CREATE TABLE t (x); INSERT INTO t VALUES (42)');
      const plain = { prepare: source.prepare.bind(source), exec: source.exec.bind(source) };
      const byNode = (): Promise<never> => Promise.reject(new Error('not an error'));
      await backUpDatabase(plain as SqlDatabase, copyPath, { byNode, signal: new AbortController().signal });
    } finally {
      source.close();
    }
    const copy = await openDatabase(copyPath);
    expect(copy.prepare('SELECT x FROM t').get()).to.deep.include({ x: 42 });
    copy.close();
    expect(statSync(copyPath).mode & 0o777).to.equal(0o600);
  });

  it('cannot be made of a database in memory, because its store has no method backUp', () => {
    expect(createSqliteStore({ memory: true }).backUp).to.equal(undefined);
  });
});
