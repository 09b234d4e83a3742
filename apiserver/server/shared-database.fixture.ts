import { StoreError } from '../store/store-error.ts';
import { createSqliteStore } from '../store/sqlite/sqlite-store.ts';
import type { SqliteStore } from '../store/sqlite/sqlite-store.ts';
import type { Change, Committed, OpenedStore, Operation, Row, Store } from '../store/store.ts';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import type { ApiServerOptions } from './api-server-options.ts';

/**
 * A database in memory for any number of stores. Tests run several replicas on it in one process, and can make single
 * calls fail.
 */
export class SharedDatabase {
  readonly #store: SqliteStore = createSqliteStore({ memory: true });
  readonly #opened: Promise<OpenedStore>;
  readonly #replicas = new Set<ReplicaStore>();

  constructor() {
    this.#opened = this.#store.open();
  }

  replica(): ReplicaStore {
    const replica = new ReplicaStore(this.#store, this.#opened, (revision) => this.#announce(revision));
    this.#replicas.add(replica);
    return replica;
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  #announce(revision: number): void {
    for (const replica of this.#replicas) replica.hear(revision);
  }
}

/** Starts a server on a database. Once the server is ready, it receives no hints of changes by other servers. */
export async function startDeaf(database: SharedDatabase, options: Partial<ApiServerOptions>): Promise<ApiServer> {
  const store = database.replica();
  const server = await startOn(store, { port: 0, ...options });
  store.isDeaf = true;
  return server;
}

/** A store on a {@link SharedDatabase}. */
export class ReplicaStore implements Store {
  readonly isShared = true;
  /** True when the store receives no hints. */
  isDeaf = false;
  /**
   * Called before {@link changes}. Each of the hooks below is also called before or after one method of the store. The
   * method waits for the hook's promise, and rejects if the promise rejects.
   */
  beforeChanges: () => Promise<void> = async () => undefined;
  beforeCommit: (batch: readonly Operation[]) => Promise<void> = async () => undefined;
  afterCommit: () => Promise<void> = async () => undefined;
  beforeRevision: () => Promise<void> = async () => undefined;
  afterScan: () => Promise<void> = async () => undefined;
  beforeCheck: () => Promise<void> = async () => undefined;
  readonly #store: SqliteStore;
  readonly #opened: Promise<OpenedStore>;
  readonly #announce: (revision: number) => void;
  readonly #listeners = new Set<(revision: number) => void>();
  #isClosed = false;

  constructor(store: SqliteStore, opened: Promise<OpenedStore>, announce: (revision: number) => void) {
    this.#store = store;
    this.#opened = opened;
    this.#announce = announce;
  }

  async open(): Promise<OpenedStore> {
    const { epoch, compactRevision } = await this.#opened;
    return { epoch, compactRevision, revision: await this.#store.currentRevision() };
  }

  async commit(batch: readonly Operation[]): Promise<Committed> {
    await this.beforeCommit(batch);
    const committed = await this.#store.commit(batch);
    this.#announce(await this.#store.currentRevision());
    await this.afterCommit();
    return committed;
  }

  async *scan(kind?: number): AsyncGenerator<readonly Row[], void, undefined> {
    yield* this.#store.scan(kind);
    await this.afterScan();
  }

  async changes(after: number, limit: number): Promise<readonly Change[]> {
    await this.beforeChanges();
    return this.#store.changes(after, limit);
  }

  async currentRevision(): Promise<number> {
    await this.beforeRevision();
    if (this.#isClosed) throw new StoreError('closed', 'the store is not open');
    return this.#store.currentRevision();
  }

  async checkSchema(): Promise<void> {
    await this.beforeCheck();
  }

  subscribe(wake: (revision: number) => void): () => void {
    this.#listeners.add(wake);
    return () => this.#listeners.delete(wake);
  }

  hear(revision: number): void {
    if (!this.isDeaf) for (const wake of this.#listeners) wake(revision);
  }

  async compact(upTo: number, maxRows: number): Promise<number> {
    return this.#store.compact(upTo, maxRows);
  }

  async numberOf(name: string): Promise<number> {
    return this.#store.numberOf(name);
  }

  async names(prefix: string): Promise<readonly string[]> {
    return this.#store.names(prefix);
  }

  uniqueIndexes(kind: number): ReturnType<Store['uniqueIndexes']> {
    return this.#store.uniqueIndexes(kind);
  }

  claims(kind: number): ReturnType<Store['claims']> {
    return this.#store.claims(kind);
  }

  setClaims(...parameters: Parameters<Store['setClaims']>): ReturnType<Store['setClaims']> {
    return this.#store.setClaims(...parameters);
  }

  async startHistory(revision: number): Promise<OpenedStore> {
    return this.#store.startHistory(revision);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
  }
}
