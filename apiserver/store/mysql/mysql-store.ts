import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import { MysqlCommitter } from './mysql-committer.ts';
import { MysqlReader } from './mysql-reader.ts';
import type { MysqlDatabase } from './mysql-url.ts';
import { MysqlWriter } from './mysql-writer.ts';
import { ChangeSubscription, type LookIntervals } from '../server/change-subscription.ts';
import { readAhead, readChanges } from '../server/pages.ts';
import type {
  Change,
  ClaimsOutcome,
  Committed,
  KindClaims,
  OpenedStore,
  Operation,
  Row,
  Store,
  StoredClaims,
} from '../store.ts';
import { StoreError } from '../store-error.ts';

/** MySQL sends no notifications of commits: stores poll. */
const intervals: LookIntervals = { minMs: 10, maxMs: 50, failedMs: 500 };

export interface MysqlStoreOptions {
  readonly database: MysqlDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
  /**
   * True: this store has the database to itself: `open` rejects with StoreError `locked` while another store has it
   * open, and the other way round. Default false: up to 64 stores, of any processes, share it.
   */
  readonly exclusive?: boolean;
}

/** A store on MySQL 8.0 or MariaDB 10.6 and newer; connects in `open`. */
export function createMysqlStore(options: MysqlStoreOptions): Store {
  return new MysqlStore(options);
}

/**
 * Two sessions with the server, one to write and one to read. Other stores, of this or other processes, may write as
 * well. Lost connections are opened again. Failures are {@link StoreError}s.
 */
class MysqlStore implements Store {
  readonly isShared = true;
  readonly #options: MysqlStoreOptions;
  readonly #writer: MysqlWriter;
  readonly #reader: MysqlReader;
  readonly #committer: MysqlCommitter;
  #subscription: ChangeSubscription | undefined;
  /** Running reads, which `close` waits for. */
  readonly #reads = new Set<Promise<unknown>>();
  #isOpened = false;
  #closing: Promise<void> | undefined;

  constructor(options: MysqlStoreOptions) {
    this.#options = options;
    this.#writer = new MysqlWriter({ ...options, exclusive: options.exclusive ?? false });
    this.#reader = new MysqlReader({ ...options, history: this.#writer.history });
    this.#committer = new MysqlCommitter(this.#writer, options.uuid);
  }

  async open(): Promise<OpenedStore> {
    if (this.#isOpened || this.#closing) throw new StoreError('closed', 'a store opens once');
    this.#isOpened = true;
    try {
      const opened = await this.#writer.open();
      await this.#reader.open();
      const read = (): Promise<number> => this.#reader.currentRevision();
      const { clock } = this.#options;
      this.#subscription = new ChangeSubscription({ read, clock, intervals }, opened.revision);
      return opened;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async commit(batch: readonly Operation[]): Promise<Committed> {
    const subscription = this.#opened();
    const committed = await this.#committer.commit(batch);
    const last = committed.outcomes.findLast((outcome) => 'revision' in outcome);
    if (last) subscription.notice(last.revision);
    return committed;
  }

  async *scan(kind?: number): AsyncGenerator<readonly Row[], void, undefined> {
    const kinds = kind === undefined ? await this.#read((reader) => reader.kinds()) : [kind];
    for (const each of kinds) yield* readAhead((after) => this.#read((reader) => reader.scan(each, after)));
  }

  async changes(after: number, limit: number): Promise<readonly Change[]> {
    this.#opened();
    return readChanges((from, limits) => this.#read((reader) => reader.changes(from, limits)), after, limit);
  }

  async currentRevision(): Promise<number> {
    return this.#read((reader) => reader.currentRevision());
  }

  async checkSchema(): Promise<void> {
    return this.#read((reader) => reader.checkSchema());
  }

  /** The listener must not throw. While there is one, the database is polled every 10 to 50 ms. */
  subscribe(wake: (revision: number) => void): () => void {
    return this.#opened().subscribe(wake);
  }

  async compact(upTo: number, maxRows: number): Promise<number> {
    this.#opened();
    return this.#committer.compact(upTo, maxRows);
  }

  async numberOf(name: string): Promise<number> {
    this.#opened();
    return this.#committer.numberOf(name);
  }

  async setClaims(kind: number, claims: KindClaims): Promise<ClaimsOutcome> {
    this.#opened();
    return this.#committer.setClaims(kind, claims);
  }

  async names(prefix: string): Promise<readonly string[]> {
    return this.#read((reader) => reader.names(prefix));
  }

  async claims(kind: number): Promise<StoredClaims> {
    return this.#read((reader) => reader.claims(kind));
  }

  async startHistory(revision: number): Promise<OpenedStore> {
    const subscription = this.#opened();
    const opened = await this.#committer.startHistory(revision);
    subscription.restart(revision);
    return opened;
  }

  /** Finishes pending requests, releases the locks and ends the sessions. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#subscription?.close();
    await Promise.allSettled(this.#reads);
    await Promise.all([this.#writer.close(), this.#reader.close()]);
  }

  #opened(): ChangeSubscription {
    if (!this.#subscription || this.#closing) throw new StoreError('closed', 'the store is not open');
    return this.#subscription;
  }

  async #read<Result>(read: (reader: MysqlReader) => Promise<Result>): Promise<Result> {
    this.#opened();
    const result = read(this.#reader);
    this.#reads.add(result);
    try {
      return await result;
    } finally {
      this.#reads.delete(result);
    }
  }
}
