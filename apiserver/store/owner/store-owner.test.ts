import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { createSqliteStore } from '../sqlite/sqlite-store.ts';
import {
  bytes,
  create,
  key,
  kind,
  readable,
  rejectionOf,
  scanned,
  text,
  written,
} from '../store-operations.fixture.ts';
import { StoreError } from '../store-error.ts';
import type { Change, Store } from '../store.ts';
import { ChangeBroadcast } from './change-broadcast.ts';
import type { WrittenCommit } from './merged-commits.ts';
import { TestOwner } from './owner.test-support.ts';

/** Returns a SQLite store in memory that counts the reads of changes and the open scans. Its commits fail on demand. */
function watchedStore() {
  const store = createSqliteStore({ memory: true });
  const watched = { reads: 0, openScans: 0, failure: undefined as Error | undefined };
  const { commit, changePages, scan } = store;
  const replaced = {
    commit: async (...call: Parameters<typeof commit>) => {
      if (watched.failure !== undefined) throw watched.failure;
      return commit.apply(store, call);
    },
    changePages: (...call: Parameters<typeof changePages>) => {
      watched.reads += 1;
      return changePages.apply(store, call);
    },
    async *scan(...call: Parameters<typeof scan>) {
      watched.openScans += 1;
      try {
        yield* scan.apply(store, call);
      } finally {
        watched.openScans -= 1;
      }
    },
  };
  return { store: Object.assign(store, replaced), watched };
}

/** Returns a commit of one deletion, without the change: its receiver has to read the change from the database. */
function commitOf(revision: number): WrittenCommit {
  return { operations: [{ op: 'delete', key: key('1'), kind }], outcomes: [{ revision }], revision };
}

describe('the owner of a database', () => {
  let owner: TestOwner;
  let watched: ReturnType<typeof watchedStore>['watched'];
  let stores: Store[];

  beforeEach(async () => {
    const parts = watchedStore();
    watched = parts.watched;
    owner = await TestOwner.start(parts.store);
    stores = [await owner.open(), await owner.open(), await owner.open()];
    watched.reads = 0;
  });

  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await owner.close();
  });

  const three = (): [Store, Store, Store] => stores as [Store, Store, Store];

  /** Resolves when a store has received the changes up to a revision. */
  function received(store: Store, revision: number): Promise<void> {
    return new Promise((resolve) => store.subscribe((upTo) => upTo >= revision && resolve()));
  }

  it('sends changes to other processes: does not read the database for creations, and reads it only once for all processes if a commit has an update', async () => {
    const [a, b, c] = three();
    const all = received(b, 5);
    await written(a, create('1', 'x'), create('2', 'y'));
    await written(c, create('3', 'z'));
    expect(watched.reads).to.equal(0);
    await written(a, create('4', ''), { op: 'update', key: key('1'), kind, expect: 1, data: bytes('new') });
    await all;
    expect(watched.reads).to.equal(1);
    const changes = await b.changes(0, 5);
    expect(changes.map((change) => change.key)).to.deep.equal(['1', '2', '3', '4', '1'].map((name) => key(name)));
    expect((await b.changes(0, 2)).map(({ revision }) => revision)).to.deep.equal([1, 2]);
    expect((await b.changes(1, 2)).map(({ revision }) => revision)).to.deep.equal([2, 3]);
    expect(watched.reads, 'read again').to.equal(1);
    // After this call, the store has forgotten the changes up to 3, so the next call reads from the database.
    await b.changes(4, 1);
    expect((await b.changes(0, 5)).map(readable)).to.deep.equal(changes.map(readable));
    expect(watched.reads).to.equal(2);
  });

  it('sends the extra bytes (`note`) of a write to the stores that other processes have open, but does not save these bytes', async () => {
    const [a, b] = three();
    const all = received(b, 5);
    const note = (value: string): { readonly note: Uint8Array } => ({ note: bytes(value) });
    await written(a, { ...create('1', 'x'), ...note('n1') }, create('2', 'y'), { ...create('3', 'z'), ...note('n3') });
    const update = { op: 'update', key: key('2'), kind, expect: 2, data: bytes('new') } as const;
    const refused = { ...create('1', 'again'), ...note('refused') };
    await a.commit([refused, { ...update, ...note('n4') }, create('5', '')]);
    await all;
    const notesOf = (changes: readonly Change[]): readonly (string | undefined)[] =>
      changes.map((change) => text(change.note));
    expect(notesOf(await b.changes(0, 5))).to.deep.equal(['n1', undefined, 'n3', 'n4', undefined]);
    expect(notesOf(await b.changes(3, 1))).to.deep.equal(['n4']);
    const late = await owner.open();
    expect(notesOf(await late.changes(0, 5))).to.deep.equal(Array.from({ length: 5 }));
    await late.close();
  });

  it('lets the store of one process read its own changes and those of other processes, in the order of revisions', async () => {
    const [a, b] = three();
    for (const [at, store] of [a, b, a, b].entries()) await written(store, create(`${at}`, ''));
    for (const after of [0, 1, 2, 3]) {
      const found = (await b.changes(after, 10)).map(({ revision }) => revision);
      expect(found, `after ${after}`).to.deep.equal([1, 2, 3, 4].slice(after));
    }
    expect(await b.changes(4, 10)).to.deep.equal([]);
  });

  it('lets a store read a current revision that includes all acknowledged writes of the other stores on this database', async () => {
    const [a, b] = three();
    for (let round = 1; round <= 50; round += 1) {
      await written(a, create(`${round}`, ''));
      expect(await b.currentRevision()).to.equal(round);
    }
  });

  it('tells a store that opens after a compaction how far the history is compacted', async () => {
    const [a] = three();
    await written(a, create('1', ''), create('2', ''), create('3', ''));
    await a.compact(2, 10);
    const late = owner.store();
    expect(await late.open()).to.include({ revision: 3, compactRevision: 2 });
    await late.close();
    expect(await rejectionOf(a.changes(1, 10))).to.include({ name: 'CompactedError', compactRevision: 2 });
  });

  it('ends the scans of a store that has disconnected, and executes the commits that the store had sent', async () => {
    const [a, b] = three();
    await written(a, create('1', ''));
    const scan = a.scan()[Symbol.asyncIterator]();
    await scan.next();
    expect(watched.openScans).to.equal(1);
    const commit = rejectionOf(a.commit([create('2', '')]));
    await a.close();
    expect(await commit).to.equal(undefined);
    await eventually(() => watched.openScans === 0);
    expect(await scanned(b)).to.have.lengthOf(2);
  });

  it('when the owner ends, all pending and later calls fail with the code `crashed`', async () => {
    const [a, b] = three();
    const waiting = [a.commit([create('1', '')]), b.currentRevision()].map(rejectionOf);
    await owner.close();
    const errors = [...(await Promise.all(waiting)), await rejectionOf(a.names('x')), await rejectionOf(scanned(b))];
    for (const error of errors) expect(error).to.include({ name: 'StoreError', code: 'crashed' });
  });

  it('passes the error of a commit on to the caller; if the database can no longer be used, the promise `failed` resolves with the same error', async () => {
    const [a] = three();
    watched.failure = new StoreError('full', 'the disk is full');
    expect(await rejectionOf(a.commit([create('1', '')]))).to.deep.include({
      code: 'full',
      message: 'the disk is full',
    });
    watched.failure = new StoreError('crashed', 'the thread has ended');
    expect(await rejectionOf(a.commit([create('1', '')]))).to.include({ code: 'crashed' });
    expect(await owner.owner.failed).to.equal(watched.failure);
  });

  it('refuses an unknown operation, and handles the next ones', async () => {
    const [a] = three();
    const broken = { op: 'rename', key: key('1'), kind } as never;
    expect(await rejectionOf(a.commit([broken]))).to.include({ code: 'refused' });
    await written(a, create('1', ''));
  });

  it('sends no more changes to a process that does not read them, and continues with the others', async () => {
    const sent = { slow: 0, fast: 0 };
    const receivers = new Set([
      { waitingBytes: 17 * 1024 * 1024, sendFrame: () => (sent.slow += 1) },
      { waitingBytes: 0, sendFrame: () => (sent.fast += 1) },
    ]);
    const broadcast = new ChangeBroadcast({ changePages: async () => [] }, receivers);
    await broadcast.publish(commitOf(1));
    expect(sent).to.deep.equal({ slow: 0, fast: 1 });
  });

  it('sends later changes even if it could not read an earlier one', async () => {
    const sent: number[] = [];
    const receivers = new Set([1, 2].map((number) => ({ waitingBytes: 0, sendFrame: () => void sent.push(number) })));
    let isBroken = true;
    const changePages = async (): Promise<[]> => {
      if (isBroken) throw new StoreError('io', 'cannot read');
      return [];
    };
    const broadcast = new ChangeBroadcast({ changePages }, receivers);
    await broadcast.publish(commitOf(1));
    isBroken = false;
    await broadcast.publish(commitOf(2));
    expect(sent).to.deep.equal([1, 2]);
  });
});

describe('the backup of a database that another process, its owner, has open', () => {
  const folder = mkdtempSync(join(tmpdir(), 'homeostat-owner-backup-'));
  after(() => rmSync(folder, { recursive: true }));

  it('is a copy of the database file, and the owner deletes this copy when the store that requested it has disconnected', async () => {
    const owner = await TestOwner.start(createSqliteStore({ path: join(folder, 'x.db') }));
    const store = await owner.open();
    await written(store, create('1', ''));
    const path = (await store.backUp?.()) ?? '';
    expect(existsSync(path)).to.equal(true);
    await store.close();
    await eventually(() => !existsSync(path));
    await owner.close();
  });

  it('does not exist for a database in memory: the store has no method backUp', async () => {
    const owner = await TestOwner.start();
    const store = await owner.open();
    expect(store.backUp).to.equal(undefined);
    await store.close();
    await owner.close();
  });
});
