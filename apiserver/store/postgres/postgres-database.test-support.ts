import { randomUUID } from 'node:crypto';

import { systemClock } from '@homeostat/controller-runtime';
import { eventually, type FakeClock, testPatienceMs } from '@homeostat/controller-runtime/testing';
import { Client } from 'pg';

import { PostgresProxy } from './postgres-proxy.test-support.ts';
import { createPostgresStore, type PostgresStoreParts } from './postgres-store.ts';
import type { DurableStoreUnderTest, StoreUnderTest } from '../store.contract.ts';
import type { Store } from '../store.ts';

/** The server on which tests create databases. */
const serverUrl = process.env['HOMEOSTAT_TEST_POSTGRES'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/**
 * A server on which a test file creates databases, which are dropped after the file. If no server responds at the
 * default address, the tests are skipped. If `HOMEOSTAT_TEST_POSTGRES` names a server and it does not respond, the
 * tests fail.
 */
export class PostgresTestServer {
  readonly #databases: string[] = [];
  #shared: Promise<string> | undefined;
  #schemas = 0;
  readonly #stores: Store[] = [];
  readonly #proxies: PostgresProxy[] = [];
  #admin: Client | undefined;

  /** Adds hooks that connect to the server, and clean up. Call this in a `describe`, not in a test. */
  static use(): PostgresTestServer {
    const server = new PostgresTestServer();
    before(async function connect() {
      const failure = await server.#connect();
      if (failure === undefined) return;
      if (process.env['HOMEOSTAT_TEST_POSTGRES'] !== undefined) throw failure;
      this.skipBecause(
        'there is no PostgreSQL server at the default address; HOMEOSTAT_TEST_POSTGRES can name another one',
        failure,
      );
    });
    after(() => server.#end());
    return server;
  }

  /** Creates a database, and returns its URL. */
  async createDatabase(): Promise<string> {
    const name = `homeostat_test_${randomUUID().replaceAll('-', '')}`;
    await this.query(`CREATE DATABASE ${name}`);
    this.#databases.push(name);
    const url = new URL(serverUrl);
    url.pathname = name;
    return url.href;
  }

  /**
   * Returns the URL of a new schema. The tests of a file share a database, because a schema is created and dropped much
   * faster than a database.
   */
  async createSchema(): Promise<string> {
    this.#shared ??= this.createDatabase();
    const url = new URL(await this.#shared);
    const name = `s${(this.#schemas += 1)}`;
    await runOn(url.href, `CREATE SCHEMA ${name}`);
    url.searchParams.set('options', `-c search_path=${name}`);
    // The driver does not decode a plus sign as a space.
    return url.href.replaceAll('+', '%20');
  }

  /** Runs a query as the administrator, in the administrator's database. */
  async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    if (!this.#admin) throw new Error('not connected');
    return (await this.#admin.query<Row>(text, values)).rows;
  }

  /** Ends all sessions of a database, or only those that wait for a lock. Returns their number. */
  async endSessions(url: string, which: 'all' | 'waiting' = 'all'): Promise<number> {
    const text = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = $1 AND ($2 = 'all' OR wait_event_type = 'Lock')`;
    return (await this.query(text, [databaseOf(url), which])).length;
  }

  /** Returns the number of sessions of a database that wait for a lock. */
  async waitingSessions(url: string): Promise<number> {
    const text = `SELECT FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`;
    return (await this.query(text, [databaseOf(url)])).length;
  }

  /** Returns the number of sessions of a database. */
  async sessions(url: string): Promise<number> {
    return (await this.query('SELECT FROM pg_stat_activity WHERE datname = $1', [databaseOf(url)])).length;
  }

  store(url: string, options: Partial<PostgresStoreParts> = {}): Store {
    const store = createPostgresStore({ url, clock: systemClock, uuid: randomUUID, ...options });
    this.#stores.push(store);
    return store;
  }

  /** Returns an open store; without a URL, on a new schema. */
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

  /** Returns an open store on a new schema, with a proxy between the store and its server. */
  async openThroughProxy(clock?: FakeClock): Promise<ProxiedStore> {
    const directUrl = await this.createSchema();
    const proxy = await PostgresProxy.start(directUrl);
    this.#proxies.push(proxy);
    const store = this.store(proxy.url, clock && { clock });
    await store.open();
    return { store, proxy, directUrl };
  }

  /** Returns several open stores on one schema; without a URL, on a new schema. */
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
    // A failed test may have left its store open.
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

/** Advances the clock until a promise has settled. The promise may also depend on responses from the network. */
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

/** Runs SQL on a database, on a connection that is closed before the promise resolves. */
export async function runOn<Row extends object>(url: string, text: string): Promise<Row[]> {
  return onSession(url, async (client) => (await client.query<Row>(text)).rows);
}

/** Locks the counter's row while `body` runs, so that every writing transaction of a store waits at its beginning. */
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
