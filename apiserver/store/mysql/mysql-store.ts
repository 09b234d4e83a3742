import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import { MysqlCommitter } from './mysql-committer.ts';
import { MysqlReader } from './mysql-reader.ts';
import type { MysqlDatabase } from './mysql-url.ts';
import { MysqlWriter } from './mysql-writer.ts';
import { ChangeSubscription, type LookIntervals } from '../server/change-subscription.ts';
import { readAhead, readChanges } from '../server/pages.ts';
import { ServerStore, type Connected } from '../server/server-store.ts';
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
  StoredIndexes,
} from '../store.ts';

/** The intervals at which the database is polled for new commits, because MySQL sends no notifications of them. */
const intervals: LookIntervals = { minMs: 10, maxMs: 50, failedMs: 500 };

export interface MysqlStoreParts {
  readonly database: MysqlDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
  /**
   * True: this store has the database exclusively: `open` rejects with StoreError `locked` while another store has the
   * database open, and no other store can open it until this one is closed. False: up to 64 stores, in any processes,
   * can use the database. Default false.
   */
  readonly exclusive?: boolean;
}

/** Creates a store on MySQL 8.0, MariaDB 10.6, or a newer version. The store connects in `open`. */
export function createMysqlStore(parts: MysqlStoreParts): Store {
  return new MysqlStore(parts);
}

/**
 * A store with two sessions on a server, one for writes and one for reads. Other stores, in this or other processes,
 * can write as well. Lost connections are opened again. Methods reject with {@link StoreError}, and `changes` also with
 * CompactedError.
 */
class MysqlStore extends ServerStore implements Store {
  readonly #parts: MysqlStoreParts;
  readonly #writer: MysqlWriter;
  readonly #reader: MysqlReader;
  readonly #committer: MysqlCommitter;

  constructor(parts: MysqlStoreParts) {
    super();
    this.#parts = parts;
    this.#writer = new MysqlWriter({ ...parts, exclusive: parts.exclusive ?? false });
    this.#reader = new MysqlReader({ ...parts, history: this.#writer.history });
    this.#committer = new MysqlCommitter(this.#writer, parts.uuid);
  }

  protected override async connect(): Promise<Connected> {
    const opened = await this.#writer.open();
    await this.#reader.open();
    const read = (): Promise<number> => this.#reader.currentRevision();
    const { clock } = this.#parts;
    // While the store has a listener, it polls the database at these intervals.
    return { opened, subscription: new ChangeSubscription({ read, clock, intervals }, opened.revision) };
  }

  protected override commitBatch(batch: readonly Operation[]): Promise<Committed> {
    return this.#committer.commit(batch);
  }

  async *scan(kind?: number): AsyncGenerator<readonly Row[], void, undefined> {
    const kinds = kind === undefined ? await this.#read((reader) => reader.kinds()) : [kind];
    for (const each of kinds) yield* readAhead((after) => this.#read((reader) => reader.scan(each, after)));
  }

  async changes(after: number, limit: number): Promise<readonly Change[]> {
    this.opened();
    return readChanges((from, limits) => this.#read((reader) => reader.changes(from, limits)), after, limit);
  }

  async currentRevision(): Promise<number> {
    return this.#read((reader) => reader.currentRevision());
  }

  async checkSchema(): Promise<void> {
    return this.#read((reader) => reader.checkSchema());
  }

  async compact(upTo: number, maxRows: number): Promise<number> {
    this.opened();
    return this.#committer.compact(upTo, maxRows);
  }

  async numberOf(name: string): Promise<number> {
    this.opened();
    return this.#committer.numberOf(name);
  }

  async setClaims(kind: number, claims: KindClaims): Promise<ClaimsOutcome> {
    this.opened();
    return this.#committer.setClaims(kind, claims);
  }

  async names(prefix: string): Promise<readonly string[]> {
    return this.#read((reader) => reader.names(prefix));
  }

  async uniqueIndexes(kind: number): Promise<StoredIndexes> {
    return this.#read((reader) => reader.uniqueIndexes(kind));
  }

  async claims(kind: number): Promise<StoredClaims> {
    return this.#read((reader) => reader.claims(kind));
  }

  protected override beginHistory(revision: number): Promise<OpenedStore> {
    return this.#committer.startHistory(revision);
  }

  protected override async disconnect(unsubscribed: Promise<void> | undefined): Promise<void> {
    await unsubscribed;
    await this.readsEnded();
    await Promise.all([this.#writer.close(), this.#reader.close()]);
  }

  #read<Result>(ask: (reader: MysqlReader) => Promise<Result>): Promise<Result> {
    return this.read(() => ask(this.#reader));
  }
}
