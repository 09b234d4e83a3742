import type { Clock } from '@homeostat/controller-runtime/api';

import { setClaims } from './postgres-claims.ts';
import { compact } from './postgres-history.ts';
import { listenForCommits } from './postgres-listener.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { PostgresReader } from './postgres-reader.ts';
import * as sql from './postgres-statements.ts';
import { PostgresWriter } from './postgres-writer.ts';
import { ChangeSubscription, type LookIntervals } from '../server/change-subscription.ts';
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

/** The intervals of polling, which finds commits whose notifications are lost. */
const intervals: LookIntervals = { minMs: 1_000, maxMs: 1_000, failedMs: 1_000 };

export interface PostgresStoreParts {
  /**
   * `postgres://[user[:password]@]host[:port]/database[?sslmode=…]`; missing parts come from environment variables such
   * as `PGUSER`.
   */
  readonly url: string;
  readonly clock: Clock;
  /** Returns ids for transactions and for the store. */
  readonly uuid: () => string;
  /**
   * False: any number of stores, in any processes, can use the database. True: this store has the database exclusively:
   * `open` waits up to 2 s, and rejects with `locked` if another store still has the database open. While this store is
   * open, `open` of any other store rejects in the same way. Default false.
   */
  readonly exclusive?: boolean;
}

/** Creates a store on PostgreSQL 13 or newer. The store connects in `open`. */
export function createPostgresStore(parts: PostgresStoreParts): Store {
  return new PostgresStore(parts);
}

/**
 * A store with two sessions, one that writes and one that reads, and a third one while there are subscribers. A lost
 * session is opened again. Any number of stores can write to the same tables: a lock on the row of the revision counter
 * puts their writes in order. Methods reject with StoreError, and `changes` also with CompactedError.
 */
class PostgresStore extends ServerStore implements Store {
  readonly #writer: PostgresWriter;
  readonly #reader: PostgresReader;
  readonly #parts: PostgresStoreParts;

  constructor(parts: PostgresStoreParts) {
    super();
    this.#parts = parts;
    this.#reader = new PostgresReader(parts);
    this.#writer = new PostgresWriter({ ...parts, onNewSession: () => this.#reader.reset() });
  }

  protected override async connect(): Promise<Connected> {
    const opened = await this.#writer.open();
    const { url, clock } = this.#parts;
    const subscription = new ChangeSubscription(
      {
        read: () => this.currentRevision(),
        clock,
        intervals,
        hear: (each) => listenForCommits({ url, clock }, each),
      },
      opened.revision,
    );
    return { opened, subscription };
  }

  protected override async commitBatch(batch: readonly Operation[]): Promise<Committed> {
    if (batch.length === 0) return { before: await this.currentRevision(), outcomes: [] };
    return this.#writer.commit(batch);
  }

  async *scan(kind?: number): AsyncGenerator<readonly Row[], void, undefined> {
    this.opened();
    const kinds = kind === undefined ? await this.#reader.kinds() : [kind];
    for (const each of kinds) yield* this.#reader.scan(each);
  }

  async changes(after: number, limit: number): Promise<readonly Change[]> {
    this.opened();
    const found = await this.#reader.changes(after, limit);
    this.#writer.learn(found.at(-1)?.revision ?? 0);
    return found;
  }

  async currentRevision(): Promise<number> {
    this.opened();
    const revision = await this.#reader.currentRevision();
    this.#writer.learn(revision);
    return revision;
  }

  async checkSchema(): Promise<void> {
    this.opened();
    return this.#reader.checkSchema();
  }

  async compact(upTo: number, maxRows: number): Promise<number> {
    this.opened();
    return this.#writer.transaction((connection) => compact(connection, { upTo, maxRows }));
  }

  async numberOf(name: string): Promise<number> {
    this.opened();
    return this.#writer.transaction((connection) => numberOf(connection, name));
  }

  async setClaims(kind: number, wanted: KindClaims): Promise<ClaimsOutcome> {
    this.opened();
    return this.#writer.transaction((connection) => setClaims(connection, kind, wanted));
  }

  async names(prefix: string): Promise<readonly string[]> {
    this.opened();
    return this.#reader.names(prefix);
  }

  async uniqueIndexes(kind: number): Promise<StoredIndexes> {
    this.opened();
    return this.#reader.uniqueIndexes(kind);
  }

  async claims(kind: number): Promise<StoredClaims> {
    this.opened();
    return this.#reader.claims(kind);
  }

  protected override beginHistory(revision: number): Promise<OpenedStore> {
    return this.#writer.startHistory(revision);
  }

  protected override async disconnect(unsubscribed: Promise<void> | undefined): Promise<void> {
    // A poll may be waiting for the connection of the reader, so the reader is closed before the polls are awaited.
    await this.#writer.close();
    await this.#reader.close();
    await unsubscribed;
  }
}

/**
 * Returns the number of a name; assigns one if the name has none. Runs in a transaction, and takes the lock of the
 * counter, so that a name gets only one number, even from several stores.
 */
async function numberOf(connection: PostgresConnection, name: string): Promise<number> {
  await connection.query(sql.lockCounter);
  const [found] = await connection.query<{ id: number }>(sql.getNumber, [name]);
  const [row] = found ? [found] : await connection.query<{ id: number }>(sql.addNumber, [name]);
  return row?.id ?? 0;
}
