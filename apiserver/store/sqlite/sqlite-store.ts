import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compareCodePoints } from '@homeostat/controller-runtime/api';
import type { SqlitePragmas } from './sqlite-connection.ts';
import { runInTurns } from '../../turns/steps.ts';
import { sortSteps } from '../../turns/sort-steps.ts';
import { packBatch, unpackOutcomes } from '../packed-batch.ts';
import { packItems } from '../packed-items.ts';
import {
  lastRevisionOf,
  maxPageRows,
  type PackedPage,
  type PagedStore,
  unpackChanges,
  unpackRows,
} from '../packed-page.ts';
import type {
  Change,
  ClaimsOutcome,
  Committed,
  KeptStore,
  KindClaims,
  OpenedStore,
  Operation,
  Row,
  SnapshotStore,
  StoredClaims,
  StoredIndexes,
} from '../store.ts';
import { StoreError } from '../store-error.ts';
import { SqliteSession } from './sqlite-session.ts';
import { WorkerChannel } from './worker-channel.ts';

/**
 * The database: a file, or only memory. A missing file is created with mode 0600, and its folder, if missing, with mode
 * 0700.
 */
export type SqlitePlace = { readonly path: string } | { readonly memory: true };

/** Returns a store on SQLite that is not open. It accesses no file before `open` is called. */
export function createSqliteStore(place: SqlitePlace): SqliteStore {
  return new SqliteStore('path' in place ? place.path : undefined);
}

/** The way in which a store sends requests to its database. */
type Channel = Pick<WorkerChannel, 'call' | 'exited' | 'terminate'>;

/**
 * Returns a channel that handles calls in this thread, for a database in memory. Nothing is synced to the disk, so
 * another thread would have no advantage, and would make the order of events vary. Results are delivered in a later
 * turn of the event loop: otherwise a caller that makes the next call after each result would block all other work.
 */
function channelInPlace(): Channel {
  const session = new SqliteSession();
  return {
    call: async (type, request) => {
      await new Promise<void>((resolve) => setImmediate(resolve));
      return session.answer(type, request);
    },
    exited: () => Promise.resolve(),
    terminate: () => Promise.resolve(),
  };
}

/**
 * A store on SQLite. SQLite runs in a worker thread, so that an fsync never blocks the main thread; a database in
 * memory runs in the thread that uses the store. The store has its file exclusively: a second store, in this or another
 * process, is refused. Methods fail with {@link StoreError}; reads of the history and scans also with CompactedError.
 */
class SqliteStore implements PagedStore {
  readonly isShared = false;
  /** Makes a backup; absent for a database in memory. */
  readonly backUp?: () => Promise<string>;
  /** The kept data about objects; absent for a database in memory. */
  readonly kept?: KeptStore;
  /** The files of snapshots; absent for a database in memory. */
  readonly snapshots?: SnapshotStore;
  readonly #path: string | undefined;
  readonly #listeners = new Set<(revision: number) => void>();
  #channel: Channel | undefined;
  #revision = 0;
  #closing: Promise<void> | undefined;

  constructor(path: string | undefined) {
    this.#path = path;
    if (path === undefined) return;
    this.backUp = () => this.#backUp(`${path}-backup`);
    this.kept = this.#createKept();
    this.snapshots = this.#createSnapshots(`${path}-snapshots`);
  }

  async open(): Promise<OpenedStore> {
    if (this.#channel || this.#closing) throw new StoreError('closed', 'a store can be opened only once');
    const channel =
      this.#path === undefined ? channelInPlace() : new WorkerChannel(new URL('./sqlite-worker.js', import.meta.url));
    this.#channel = channel;
    try {
      const opened = await channel.call('open', this.#path === undefined ? {} : { path: this.#path });
      this.#revision = opened.revision;
      return opened;
    } catch (error) {
      await channel.terminate();
      throw error;
    }
  }

  async commit(batch: readonly Operation[]): Promise<Committed> {
    const packed = packBatch(batch);
    const answer = await this.#opened().call('commit', packed, [packed.bytes.buffer]);
    const { before } = answer;
    const outcomes = unpackOutcomes(answer);
    for (const outcome of outcomes) if ('revision' in outcome) this.#revision = outcome.revision;
    if (this.#revision > before) for (const wake of this.#listeners) wake(this.#revision);
    return { before, outcomes };
  }

  /**
   * Yields the objects as they are when the scan begins: those of one kind in the order of their revisions; without
   * `kind`, all objects in the order of their keys. During the scan, the states of these objects are not compacted,
   * unless a million changes are made: then the scan may reject with CompactedError.
   */
  async *scan(kind?: number): AsyncGenerator<readonly Row[], void, undefined> {
    const { scan, revisions } = await this.#opened().call('beginScan', { kind });
    try {
      yield* this.#readPages(kind === undefined ? await this.#orderedByKey(revisions) : revisions);
    } finally {
      // An error is ignored: when the worker ends, its scans end as well.
      await this.#channel?.call('endScan', { scan }).catch(() => undefined);
    }
  }

  async changes(after: number, limit: number): Promise<readonly Change[]> {
    return (await this.changePages(after, limit)).flatMap(unpackChanges);
  }

  /** Returns the result of {@link changes} as packed pages. */
  async changePages(after: number, limit: number): Promise<readonly PackedPage[]> {
    const pages: PackedPage[] = [];
    let from = after;
    for (let left = limit; left > 0;) {
      const page = await this.#opened().call('changes', { after: from, limit: left });
      pages.push(page);
      if (page.isLast) break;
      left -= page.keys.length;
      from = lastRevisionOf(page) ?? from;
    }
    return pages;
  }

  // This store is the only writer of its database, so it knows the latest revision without a read.
  async currentRevision(): Promise<number> {
    this.#opened();
    return this.#revision;
  }

  // No other program can open the file while this store is open, so there is nothing to check.
  async checkSchema(): Promise<void> {
    this.#opened();
  }

  /** Calls `wake` with the last revision of each commit that writes an object. `wake` must not throw. */
  subscribe(wake: (revision: number) => void): () => void {
    this.#listeners.add(wake);
    return () => this.#listeners.delete(wake);
  }

  async compact(upTo: number, maxRows: number): Promise<number> {
    return this.#opened().call('compact', { upTo, maxRows });
  }

  async numberOf(name: string): Promise<number> {
    return this.#opened().call('numberOf', { name });
  }

  async names(prefix: string): Promise<readonly string[]> {
    return this.#opened().call('names', { prefix });
  }

  async uniqueIndexes(kind: number): Promise<StoredIndexes> {
    return this.#opened().call('uniqueIndexes', { kind });
  }

  async claims(kind: number): Promise<StoredClaims> {
    return this.#opened().call('claims', { kind });
  }

  async setClaims(kind: number, wanted: KindClaims): Promise<ClaimsOutcome> {
    this.#opened();
    const claims = await runInTurns(packItems(wanted.claims));
    const transfer = claims.map(({ buffer }) => buffer);
    return this.#opened().call('setClaims', { kind, wanted: { ...wanted, claims } }, transfer);
  }

  async startHistory(revision: number): Promise<OpenedStore> {
    const opened = await this.#opened().call('startHistory', { revision });
    this.#revision = opened.revision;
    return opened;
  }

  /** Returns the settings of the connection, as SQLite reports them. */
  async pragmas(): Promise<SqlitePragmas> {
    return this.#opened().call('pragmas', {});
  }

  /** Finishes pending requests, writes the WAL back into the file and ends the worker. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #createKept(): KeptStore {
    return {
      read: async ({ number }, from) => this.#opened().call('readKept', { kind: number, from }),
      write: async ({ number }, { last, data }) => this.#opened().call('writeKept', { kind: number, last, data }),
      drop: async ({ number }) => {
        while (await this.#opened().call('dropKept', { kind: number }));
      },
    };
  }

  #createSnapshots(folder: string): SnapshotStore {
    return {
      folder,
      nameOf: ({ number, plural, group }) => `${number}-${plural}${group === '' ? '' : `.${group}`}`,
      readMark: async (kind) => this.#opened().call('readMark', { kind }),
      writeMark: async (kind, mark) => this.#opened().call('writeMark', { kind, ...mark }),
      drop: async (name) => rm(join(folder, name), { force: true }),
    };
  }

  async #backUp(path: string): Promise<string> {
    await this.#opened().call('backUp', { path });
    return path;
  }

  async #close(): Promise<void> {
    const channel = this.#channel;
    if (!channel) return;
    try {
      await channel.call('close', {});
      await channel.exited();
    } catch (error) {
      await channel.terminate();
      // If the worker has already ended, all pending calls were rejected, so this error is ignored.
      if (!(error instanceof StoreError && error.code === 'crashed')) throw error;
    }
  }

  #opened(): Channel {
    if (!this.#channel || this.#closing) throw new StoreError('closed', 'the store is not open');
    return this.#channel;
  }

  /** Yields the states with these revisions in pages, in the order of the revisions. */
  async *#readPages(revisions: Float64Array): AsyncGenerator<readonly Row[], void, undefined> {
    const read = (from: number): Promise<PackedPage> =>
      this.#opened().call('rows', { revisions: revisions.slice(from, from + maxPageRows) });
    let next: Promise<PackedPage> | undefined;
    for (let from = 0; from < revisions.length;) {
      const page = await (next ?? read(from));
      from += page.keys.length;
      if (from < revisions.length) {
        // The worker reads the next page while the caller uses this one.
        next = read(from);
        // A failure is thrown when the page is awaited. If the caller stops before that, the failure is ignored.
        next.catch(() => undefined);
      }
      yield unpackRows(page);
    }
  }

  /** Sorts revisions by the keys of their objects. */
  async #orderedByKey(revisions: Float64Array): Promise<Float64Array> {
    const found: { readonly key: string; readonly revision: number }[] = [];
    for (let from = 0; from < revisions.length; from += maxPageRows) {
      const part = revisions.slice(from, from + maxPageRows);
      const keys = await this.#opened().call('keys', { revisions: part });
      for (const [at, key] of keys.entries()) found.push({ key, revision: part[at] ?? 0 });
    }
    const ordered = await runInTurns(sortSteps(found, (a, b) => compareCodePoints(a.key, b.key)));
    return Float64Array.from(ordered, ({ revision }) => revision);
  }
}

export type { SqliteStore };
