import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { testPatienceMs } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { openDatabase } from './sqlite-binding.ts';
import { migrations } from './sqlite-tables.ts';
import { createSqliteStore } from './sqlite-store.ts';
import { bytes, create, key, scanned, written } from '../store-operations.fixture.ts';
import type { Operation, Store } from '../store.ts';
import { describeDurableStore, describeStoreContract } from '../store.contract.ts';
import type { DurableStoreUnderTest, StoreUnderTest } from '../store.contract.ts';

const directory = mkdtempSync(join(tmpdir(), 'homeostat-sqlite-'));
const stores: Store[] = [];
let files = 0;
const freshPath = (): string => join(directory, `${files++}`, 'deep', 'homeostat.db');

async function openFile(path: string): Promise<DurableStoreUnderTest> {
  const store = createSqliteStore({ path });
  stores.push(store);
  const opened = await store.open();
  const reopen = async (): Promise<StoreUnderTest> => {
    await store.close();
    return openFile(path);
  };
  return { store, opened, reopen };
}

async function failureToOpen(path: string): Promise<unknown> {
  const store = createSqliteStore({ path });
  return store.open().then(
    async () => store.close(),
    (error: unknown) => error,
  );
}

/** Opens the file in another process, and returns the code of the error. */
async function openElsewhere(path: string): Promise<string> {
  const script = `import { createSqliteStore } from ${JSON.stringify(new URL('./sqlite-store.js', import.meta.url))};
    createSqliteStore({ path: ${JSON.stringify(path)} }).open().catch((error) => process.stdout.write(error.code));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    timeout: testPatienceMs(10_000),
  });
  return stdout;
}

after(async () => {
  // A failed test may have left its store open, whose worker would keep the process alive.
  await Promise.allSettled(stores.map((store) => store.close()));
  rmSync(directory, { recursive: true, force: true });
});

// With a file, each test starts a worker thread, so these tests are slow. A store in memory runs the same code, but
// without a worker.
describeStoreContract('SQLite in a file', () => openFile(freshPath()), ' [slow]');
describeDurableStore('SQLite in a file', () => openFile(freshPath()));
describeStoreContract('SQLite in memory', async () => {
  const store = createSqliteStore({ memory: true });
  return { store, opened: await store.open() };
});

describe('SqliteStore', () => {
  it('opens its database in WAL mode, with synchronous=FULL and an exclusive lock', async () => {
    const { store } = await openFile(freshPath());
    const pragmas = await (store as ReturnType<typeof createSqliteStore>).pragmas();
    await store.close();
    expect(pragmas).to.include({ journalMode: 'wal', synchronous: 2, lockingMode: 'exclusive' });
    expect(pragmas.walAutocheckpoint * pragmas.pageBytes).to.be.within(2_000_000, 6_000_000);
  });

  it('creates a directory and files to which other users have no access', async () => {
    const path = freshPath();
    const { store } = await openFile(path);
    await store.numberOf('something in the WAL');
    const modes = [join(path, '..'), path, `${path}-wal`].map((each) => statSync(each).mode & 0o777);
    await store.close();
    expect(modes).to.deep.equal([0o700, 0o600, 0o600]);
  });

  it('removes the access of other users to a file that they could write to, and leaves any other file as it is [slow]', async () => {
    const path = freshPath();
    for (const [before, later] of [
      [0o666, 0o600],
      [0o664, 0o600],
      [0o640, 0o640],
    ] as const) {
      const { store } = await openFile(path);
      await store.close();
      chmodSync(path, before);
      const again = await openFile(path);
      const mode = statSync(path).mode & 0o777;
      await again.store.close();
      expect(mode).to.equal(later);
    }
  });

  it('refuses a second store on the same file, with the path in the message, until the first store is closed [slow]', async () => {
    const path = freshPath();
    const { store } = await openFile(path);
    const error = await failureToOpen(path);
    expect(error).to.include({ name: 'StoreError', code: 'locked' });
    expect(String(error)).to.include(path).and.to.include('in use');
    // POSIX locks belong to a process. The refused open has not dropped the locks of the first store: another process
    // still finds them.
    expect(await openElsewhere(path)).to.equal('locked');
    await store.close();
    expect(await failureToOpen(path)).to.equal(undefined);
  });

  it('refuses a database that a newer program has upgraded', async () => {
    const path = freshPath();
    await (await openFile(path)).store.close();
    const database = await openDatabase(path);
    database.exec(`UPDATE meta SET value = ${migrations.length + 1} WHERE name = 'schema'`);
    database.close();
    const error = await failureToOpen(path);
    expect(error).to.include({ code: 'newer' });
    expect(String(error))
      .to.include(path)
      .and.to.include(`version ${migrations.length + 1}`);
  });

  it('refuses files that are not a database, and a database of another program [slow]', async () => {
    const text = join(directory, 'text.db');
    writeFileSync(text, 'not a database, and long enough to be seen as none '.repeat(50));
    const other = join(directory, 'other.db');
    const database = await openDatabase(other);
    database.exec('CREATE TABLE songs (title TEXT)');
    database.close();
    for (const path of [text, other]) {
      const error = await failureToOpen(path);
      expect(error).to.include({ code: 'corrupt' });
      expect(String(error)).to.include(path);
    }
    expect(await failureToOpen(join(text, 'below-a-file.db'))).to.include({ code: 'io' });
  });

  for (const [name, only, tier] of [
    ['one kind', 1, ''],
    ['all kinds', undefined, ' [slow]'],
  ] as const) {
    it(`scans the objects of ${name} as they were when the scan began, even if they change and a compaction runs meanwhile${tier}`, async () => {
      const { store } = await openFile(freshPath());
      const names = Array.from({ length: 2500 }, (_, at) => `n${at}`).sort();
      const revisions = await written(store, ...names.map((each) => create(each, 'before')));
      const changes = names.map((each, at): Operation => {
        const change = { key: key(each), kind: 1, expect: revisions[at] ?? 0 };
        return at % 3 === 0 ? { ...change, op: 'delete' } : { ...change, op: 'update', data: bytes('after') };
      });
      const seen: string[] = [];
      for await (const page of store.scan(only)) {
        if (seen.length === 0) await written(store, ...changes);
        await store.compact(await store.currentRevision(), 10_000);
        for (const row of page) seen.push(`${row.key} ${Buffer.from(row.data).toString()}`);
      }
      expect(seen).to.deep.equal(names.map((each) => `${key(each)} before`));
      // The compaction continues once the scan has ended.
      expect(await store.compact(await store.currentRevision(), 10_000)).to.equal(changes.length);
      await store.close();
    });
  }

  it('reads the first of those parts of kept data that end at a given revision or later; startHistory deletes all parts', async () => {
    const path = freshPath();
    const { store } = await openFile(path);
    const kept = store.kept!;
    const [persons, notes] = [1, 2].map((number) => ({ number, group: 'example.com', plural: `kind-${number}` }));
    await kept.write(persons!, { last: 20, data: bytes('second') });
    await kept.write(persons!, { last: 10, data: bytes('first') });
    await kept.write(persons!, { last: 20, data: bytes('replaced') });
    await kept.write(notes!, { last: 5, data: bytes('note') });
    await store.close();
    const reopened = await openFile(path);
    const again = reopened.store.kept!;
    expect(await again.read(persons!, 1)).to.deep.equal({ last: 10, data: bytes('first') });
    expect(await again.read(persons!, 11)).to.deep.equal({ last: 20, data: bytes('replaced') });
    expect(await again.read(persons!, 21)).to.equal(undefined);
    await again.drop(persons!);
    expect(await again.read(persons!, 1)).to.equal(undefined);
    expect((await again.read(notes!, 1))?.last).to.equal(5);
    await reopened.store.startHistory(3);
    expect(await again.read(notes!, 1), 'revisions are assigned again').to.equal(undefined);
    expect(createSqliteStore({ memory: true }).kept).to.equal(undefined);
    await reopened.store.close();
  });

  it('deletes many parts of kept data in several transactions, and commits other writes between them', async () => {
    const { store } = await openFile(freshPath());
    const kept = store.kept!;
    const persons = { number: 1, group: 'example.com', plural: 'persons' };
    for (let last = 1; last <= 40; last += 1) await kept.write(persons, { last, data: bytes(`part ${last}`) });
    const ended: string[] = [];
    const dropped = kept.drop(persons).then(() => ended.push('drop'));
    await store.commit([create('a', 'a')]);
    ended.push('commit');
    await dropped;
    expect(ended).to.deep.equal(['commit', 'drop']);
    expect(await kept.read(persons, 1)).to.equal(undefined);
    await store.close();
  });

  it('scans the objects of a kind in the order of their revisions, even if replaced revisions lie between them', async () => {
    const { store } = await openFile(freshPath());
    const names = Array.from({ length: 60 }, (_, at) => `n-${(at * 37) % 60}`);
    const revisions = new Map<string, number>();
    for (const name of names) revisions.set(name, (await written(store, create(name, name)))[0]!);
    const update = async (name: string): Promise<void> => {
      const [revision] = await written(store, {
        ...create(name, `${name}!`),
        op: 'update',
        expect: revisions.get(name)!,
      });
      revisions.set(name, revision!);
    };
    for (let round = 0; round < 4; round += 1) for (const name of names.slice(0, 30)) await update(name);
    const ofKind = await scanned(store, 1);
    expect(ofKind.map(({ key: found, revision }) => [found, revision])).to.deep.equal(
      [...revisions].map(([name, revision]) => [key(name), revision]).sort(([, a], [, b]) => Number(a) - Number(b)),
    );
    expect((await scanned(store)).map(({ revision }) => revision).sort((a, b) => a - b)).to.deep.equal(
      ofKind.map(({ revision }) => revision),
    );
    await store.close();
  });

  it('rejects a second call of open, and can be closed without having been opened', async () => {
    const { store } = await openFile(freshPath());
    const error = await store.open().catch((reason: unknown) => reason);
    expect(error).to.include({ code: 'closed' });
    await store.close();
    await createSqliteStore({ path: freshPath() }).close();
  });
});
