import type { Clock } from '@homeostat/controller-runtime/api';

import { setClaims } from './postgres-claims.ts';
import { compact } from './postgres-history.ts';
import { PostgresListener } from './postgres-listener.ts';
import { numberOf } from './postgres-numbers.ts';
import { PostgresReader } from './postgres-reader.ts';
import { PostgresWriter } from './postgres-writer.ts';
import { StoreError } from '../store-error.ts';
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

export interface PostgresStoreOptions {
  /** `postgres://[user[:password]@]host[:port]/database[?sslmode=…]`; what is absent comes from `PGUSER` and its like. */
  readonly url: string;
  readonly clock: Clock;
  /** Ids of transactions, and of the store. */
  readonly uuid: () => string;
  /**
   * Default false: any number of stores, of any processes, share the database. True: this one has it for itself, and is
   * refused (`locked`) while another has it open. Who opens one meanwhile is refused as well, after 2 s.
   */
  readonly exclusive?: boolean;
}

/** A store on PostgreSQL 13 or newer; nothing is connected before `open`. */
export function createPostgresStore(options: PostgresStoreOptions): Store {
  return new PostgresStore(options);
}

/**
 * Two sessions, one that writes and one that reads, and a third while somebody subscribes; each comes back when it is
 * lost. Any number of stores write to the same tables, and the counter's row orders them. Failures are StoreErrors.
 */
class PostgresStore implements Store {
  readonly isShared = true;
  readonly #writer: PostgresWriter;
  readonly #reader: PostgresReader;
  readonly #options: PostgresStoreOptions;
  readonly #listeners = new Set<(revision: number) => void>();
  #listener: PostgresListener | undefined;
  /** Listeners know of all up to here. */
  #announced = 0;
  #state: 'new' | 'open' | 'closed' = 'new';
  #closing: Promise<void> | undefined;
  readonly #ending = new Set<Promise<void>>();

  constructor(options: PostgresStoreOptions) {
    this.#options = options;
    this.#reader = new PostgresReader(options);
    this.#writer = new PostgresWriter({ ...options, onNewSession: () => this.#reader.reset() });
  }

  async open(): Promise<OpenedStore> {
    if (this.#state !== 'new') throw new StoreError('closed', 'a store opens once');
    this.#state = 'open';
    try {
      const opened = await this.#writer.open();
      this.#announced = opened.revision;
      return opened;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async commit(batch: readonly Operation[]): Promise<Committed> {
    this.#check();
    if (batch.length === 0) return { before: await this.currentRevision(), outcomes: [] };
    const committed = await this.#writer.commit(batch);
    const last = committed.outcomes.findLast((outcome) => 'revision' in outcome);
    if (last && 'revision' in last) this.#announce(last.revision);
    return committed;
  }

  async *scan(kind?: number): AsyncGenerator<readonly Row[], void, undefined> {
    this.#check();
    const kinds = kind === undefined ? await this.#reader.kinds() : [kind];
    for (const each of kinds) yield* this.#reader.scan(each);
  }

  async changes(after: number, limit: number): Promise<readonly Change[]> {
    this.#check();
    const found = await this.#reader.changes(after, limit);
    this.#writer.learn(found.at(-1)?.revision ?? 0);
    return found;
  }

  async currentRevision(): Promise<number> {
    this.#check();
    const revision = await this.#reader.currentRevision();
    this.#writer.learn(revision);
    return revision;
  }

  async checkSchema(): Promise<void> {
    this.#check();
    return this.#reader.checkSchema();
  }

  /** The listener must not throw. */
  subscribe(wake: (revision: number) => void): () => void {
    this.#listeners.add(wake);
    if (!this.#listener && this.#state === 'open') this.#listen();
    return () => {
      this.#listeners.delete(wake);
      if (this.#listeners.size === 0) this.#stopListening();
    };
  }

  async compact(upTo: number, maxRows: number): Promise<number> {
    this.#check();
    return this.#writer.transaction((connection) => compact(connection, { upTo, maxRows }));
  }

  async numberOf(name: string): Promise<number> {
    this.#check();
    return this.#writer.transaction((connection) => numberOf(connection, name));
  }

  async setClaims(kind: number, wanted: KindClaims): Promise<ClaimsOutcome> {
    this.#check();
    return this.#writer.transaction((connection) => setClaims(connection, kind, wanted));
  }

  async names(prefix: string): Promise<readonly string[]> {
    this.#check();
    return this.#reader.names(prefix);
  }

  async claims(kind: number): Promise<StoredClaims> {
    this.#check();
    return this.#reader.claims(kind);
  }

  async startHistory(revision: number): Promise<OpenedStore> {
    this.#check();
    const begun = await this.#writer.startHistory(revision);
    this.#announced = begun.revision;
    return begun;
  }

  /** Finishes what was asked before, and gives the lock back. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#state = 'closed';
    this.#stopListening();
    await this.#writer.close();
    await this.#reader.close();
    await Promise.all(this.#ending);
  }

  #check(): void {
    if (this.#state !== 'open') throw new StoreError('closed', 'the store is not open');
  }

  #listen(): void {
    this.#listener = new PostgresListener({
      ...this.#options,
      readRevision: () => this.currentRevision(),
      onRevision: (revision) => this.#announce(revision),
    });
    this.#listener.start();
  }

  #stopListening(): void {
    const ending = this.#listener?.close();
    this.#listener = undefined;
    if (!ending) return;
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }

  /** Each revision once, however it is heard of. */
  #announce(revision: number): void {
    if (!(revision > this.#announced)) return;
    this.#announced = revision;
    for (const wake of this.#listeners) wake(revision);
  }
}
