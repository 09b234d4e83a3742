import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqliteStore } from '../sqlite/sqlite-store.ts';
import type { PagedStore } from '../packed-page.ts';
import type { Store } from '../store.ts';
import { createOwnedStore } from './owned-store.ts';
import { StoreOwner } from './store-owner.ts';

/** An owner of a database, and stores that connect to the owner over a socket. */
export class TestOwner {
  readonly owner: StoreOwner;
  readonly #folder = mkdtempSync(join(tmpdir(), 'homeostat-owner-'));
  readonly #path = join(this.#folder, 'socket');
  readonly #server: Server;
  #closing: Promise<void> | undefined;

  private constructor(store: PagedStore) {
    this.owner = new StoreOwner(store);
    this.#server = createServer((socket) => this.owner.connect(socket));
  }

  /**
   * Opens `store`, which must not be open yet, and serves it over a socket, as the process that has a database open
   * does. Default: an empty database in memory.
   */
  static async start(store: PagedStore = createSqliteStore({ memory: true })): Promise<TestOwner> {
    const started = new TestOwner(store);
    await started.owner.open();
    await new Promise<void>((resolve) => started.#server.listen(started.#path, resolve));
    return started;
  }

  /** Returns a store that is not open yet. */
  store(): Store {
    return createOwnedStore(() => connect(this.#path));
  }

  /** Returns an open store. */
  async open(): Promise<Store> {
    const store = this.store();
    await store.open();
    return store;
  }

  /** Closes the {@link StoreOwner} and the database that it serves. A second call only waits for the first one. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.owner.close();
    await closed;
    rmSync(this.#folder, { recursive: true });
  }
}
