import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import { setClaims } from './etcd-claims.ts';
import { EtcdCommitter } from './etcd-committer.ts';
import { EtcdHistory } from './etcd-history.ts';
import { EtcdLayout } from './etcd-layout.ts';
import { EtcdLink } from './etcd-link.ts';
import { listenForCommits } from './etcd-listener.ts';
import { EtcdLock } from './etcd-lock.ts';
import { EtcdReader } from './etcd-reader.ts';
import { type EtcdDatabase, nameOf } from './etcd-url.ts';
import { EtcdWriter } from './etcd-writer.ts';
import { EtcdTurns } from './etcd-turns.ts';
import { ClusterCompaction } from './cluster-compaction.ts';
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

/** The intervals of polling, which finds commits while the watch is interrupted. */
const intervals: LookIntervals = { minMs: 1_000, maxMs: 1_000, failedMs: 1_000 };

export interface EtcdStoreParts {
  readonly database: EtcdDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns ids for transactions and for the store. */
  readonly uuid: () => string;
  /**
   * False: any number of stores, in any processes, can use the database. True: this store has the database exclusively:
   * `open` rejects with `locked` while another store has the database open, and no other store can open it until this
   * one is closed. Default false.
   */
  readonly exclusive?: boolean;
}

/** Creates a store on etcd 3.4 or newer. The store connects in `open`. */
export function createEtcdStore(parts: EtcdStoreParts): Store {
  return new EtcdStore(parts);
}

/**
 * A store below a prefix of an etcd cluster. It has one connection to one of the members, and a second connection while
 * there are subscribers. Any number of stores can write: every write compares and replaces the same key `head`, which
 * puts all writes in one order. Methods reject with StoreError, and `changes` also with CompactedError.
 */
class EtcdStore extends ServerStore implements Store {
  /**
   * A batch is one request of at most 1.5 MiB. The request contains the data twice, for the object and for the log, and
   * also the previous data.
   */
  readonly batchLimits = { maxOperations: 256, maxBytes: 384 * 1024 };
  readonly #parts: EtcdStoreParts;
  readonly #layout: EtcdLayout;
  readonly #history: EtcdHistory;
  readonly #lock: EtcdLock;
  readonly #link: EtcdLink;
  readonly #turns: EtcdTurns;
  readonly #writer: EtcdWriter;
  readonly #reader: EtcdReader;
  readonly #committer: EtcdCommitter;
  readonly #compaction: ClusterCompaction;

  constructor(parts: EtcdStoreParts) {
    super();
    const { database, clock, logger, uuid, exclusive = false } = parts;
    const name = nameOf(database);
    const layout = new EtcdLayout(database.prefix);
    this.#parts = parts;
    this.#layout = layout;
    this.#history = new EtcdHistory({ layout, name, uuid });
    const id = uuid();
    this.#lock = new EtcdLock({ layout, name, id, clock, isExclusive: exclusive });
    this.#turns = new EtcdTurns({ id, clock });
    const history = this.#history;
    this.#link = new EtcdLink({ database, clock, logger, prepare: (connection) => history.check(connection) });
    const shared = { link: this.#link, layout, history, uuid };
    this.#writer = new EtcdWriter({ ...shared, id, lock: this.#lock, turns: this.#turns, clock });
    this.#reader = new EtcdReader(shared);
    this.#committer = new EtcdCommitter({ ...shared, writer: this.#writer });
    this.#compaction = new ClusterCompaction({ link: this.#link, layout, clock, logger });
  }

  protected override async connect(): Promise<Connected> {
    await this.#link.open();
    await this.#link.repeat((connection) => this.#lock.take(connection));
    this.#lock.keep(this.#link);
    const { revision, compactRevision, epoch } = this.#history.opened;
    const { database, clock } = this.#parts;
    const layout = this.#layout;
    const subscription = new ChangeSubscription(
      {
        read: () => this.#reader.currentRevision(),
        clock,
        intervals,
        hear: (each) => listenForCommits({ database, clock, layout, onHead: (head) => this.#turns.see(head) }, each),
      },
      revision,
    );
    return { opened: { revision, compactRevision, epoch }, subscription };
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
    const dropped = await this.#committer.compact(upTo, maxRows);
    await this.#compaction.run();
    return dropped;
  }

  async numberOf(name: string): Promise<number> {
    this.opened();
    return this.#committer.numberOf(name);
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

  async setClaims(kind: number, claims: KindClaims): Promise<ClaimsOutcome> {
    this.opened();
    return setClaims(kind, claims, { writer: this.#writer, reader: this.#reader, layout: this.#layout });
  }

  protected override beginHistory(revision: number): Promise<OpenedStore> {
    return this.#committer.startHistory(revision);
  }

  /** Closes the connections, and ends the lease of the store, so that the store no longer has the database open. */
  protected override async disconnect(unsubscribed: Promise<void> | undefined): Promise<void> {
    await this.#writer.drained();
    await this.readsEnded();
    await this.#lock.release(this.#link);
    await this.#link.close();
    await unsubscribed;
  }

  #read<Result>(ask: (reader: EtcdReader) => Promise<Result>): Promise<Result> {
    return this.read(() => ask(this.#reader));
  }
}
