import { randomUUID } from 'node:crypto';

import { systemClock } from '@homeostat/controller-runtime';
import { eventually, type FakeClock, testPatienceMs } from '@homeostat/controller-runtime/testing';
import { Client } from 'pg';

import { PostgresProxy } from './postgres-proxy.test-support.ts';
import { createPostgresStore, type PostgresStoreParts } from './postgres-store.ts';
import type { DurableStoreUnderTest, StoreUnderTest } from '../store.contract.ts';
import type { Store } from '../store.ts';

/** The server that tests make databases on. */
const serverUrl = process.env['HOMEOSTAT_TEST_POSTGRES'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/**
 * A server with databases of this file's own, which are dropped after it. Without a server the tests are skipped,
 * unless an address was given.
 */
export class PostgresTestServer {
  readonly #databases: string[] = [];
  #shared: Promise<string> | undefined;
  #schemas = 0;
  readonly #stores: Store[] = [];
  readonly #proxies: PostgresProxy[] = [];
  #admin: Client | undefined;

  /** Call it where mocha collects tests. */
  static use(): PostgresTestServer {
    const server = new PostgresTestServer();
    before(async function connect() {
      const failure = await server.#connect();
      if (failure === undefined) return;
      if (process.env['HOMEOSTAT_TEST_POSTGRES'] !== undefined) throw failure;
      this.skipBecause('there is no PostgreSQL: HOMEOSTAT_TEST_POSTGRES says where', failure);
    });
    after(() => server.#end());
    return server;
  }

  /** A fresh database's URL. */
  async createDatabase(): Promise<string> {
    const name = `homeostat_test_${randomUUID().replaceAll('-', '')}`;
    await this.query(`CREATE DATABASE ${name}`);
    this.#databases.push(name);
    const url = new URL(serverUrl);
    url.pathname = name;
    return url.href;
  }

  /**
   * Returns the URL of a fresh schema, in a database that the tests of a file share; a schema is made and dropped much
   * faster than a database.
   */
  async createSchema(): Promise<string> {
    this.#shared ??= this.createDatabase();
    const url = new URL(await this.#shared);
    const name = `s${(this.#schemas += 1)}`;
    await runOn(url.href, `CREATE SCHEMA ${name}`);
    url.searchParams.set('options', `-c search_path=${name}`);
    // The driver knows no plus sign for a space.
    return url.href.replaceAll('+', '%20');
  }

  /** Runs a query as the administrator, in the administrator's database. */
  async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    if (!this.#admin) throw new Error('not connected');
    return (await this.#admin.query<Row>(text, values)).rows;
  }

  /** Ends the sessions of a database, all or those that wait for a lock; returns their number. */
  async endSessions(url: string, which: 'all' | 'waiting' = 'all'): Promise<number> {
    const text = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = $1 AND ($2 = 'all' OR wait_event_type = 'Lock')`;
    return (await this.query(text, [databaseOf(url), which])).length;
  }

  /** The number of a database's sessions that wait for a lock. */
  async waitingSessions(url: string): Promise<number> {
    const text = `SELECT FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`;
    return (await this.query(text, [databaseOf(url)])).length;
  }

  /** The number of a database's sessions. */
  async sessions(url: string): Promise<number> {
    return (await this.query('SELECT FROM pg_stat_activity WHERE datname = $1', [databaseOf(url)])).length;
  }

  store(url: string, options: Partial<PostgresStoreParts> = {}): Store {
    const store = createPostgresStore({ url, clock: systemClock, uuid: randomUUID, ...options });
    this.#stores.push(store);
    return store;
  }

  /** An open store, on a fresh schema unless a database is given. */
  async open(url?: string): Promise<DurableStoreUnderTest & { readonly url: string }> {
    const database = url ?? (await this.createSchema());
    const store = this.store(database);
    const opened = await store.open();
    const reopen = async (): Promise<StoreUnderTest> => {
      await store.close();
      return this.open(database);
    };
    return { store, opened, reopen, url: database };
  }

  /** An open store, on a fresh schema, with a proxy between it and its server. */
  async openThroughProxy(clock?: FakeClock): Promise<ProxiedStore> {
    const directUrl = await this.createSchema();
    const proxy = await PostgresProxy.start(directUrl);
    this.#proxies.push(proxy);
    const store = this.store(proxy.url, clock && { clock });
    await store.open();
    return { store, proxy, directUrl };
  }

  /** Open stores on one schema, a fresh one unless a database is given. */
  async openSeveral(count: number, url?: string): Promise<{ readonly stores: readonly Store[]; readonly url: string }> {
    const database = url ?? (await this.createSchema());
    const stores = Array.from({ length: count }, () => this.store(database));
    await Promise.all(stores.map((store) => store.open()));
    return { stores, url: database };
  }

  async #connect(): Promise<unknown> {
    const admin = new Client({ connectionString: serverUrl, connectionTimeoutMillis: testPatienceMs(5_000) });
    try {
      await admin.connect();
      this.#admin = admin;
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async #end(): Promise<void> {
    // A failed test leaves its store open.
    await Promise.allSettled(this.#stores.map((store) => store.close()));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
    for (const name of this.#databases) await this.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await this.#admin?.end();
  }
}

export interface ProxiedStore {
  readonly store: Store;
  readonly proxy: PostgresProxy;
  readonly directUrl: string;
}

/** Advances time until a promise has settled whose work also waits for the network. */
export async function passTime<Result>(clock: FakeClock, promise: Promise<Result>): Promise<Result> {
  let isSettled = false;
  const settled = promise.finally(() => (isSettled = true));
  settled.catch(() => undefined);
  await eventually(async () => {
    await clock.advance(100);
    return isSettled;
  });
  return settled;
}

export function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** Runs SQL on a database, on a connection that ends before the response. */
export async function runOn<Row extends object>(url: string, text: string): Promise<Row[]> {
  return onSession(url, async (client) => (await client.query<Row>(text)).rows);
}

/** Holds the counter's row while `body` runs: no transaction of a store gets further than its beginning. */
export async function withCounterLocked<Result>(url: string, body: () => Promise<Result>): Promise<Result> {
  return onSession(url, async (client) => {
    await client.query('BEGIN; SELECT revision FROM homeostat_counter FOR UPDATE');
    const result = await body();
    await client.query('COMMIT');
    return result;
  });
}

async function onSession<Result>(url: string, body: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}
