import { randomUUID } from 'node:crypto';
import { testPatienceMs } from '@homeostat/controller-runtime/testing';
import { Client } from 'pg';

const serverUrl = process.env['HOMEOSTAT_TEST_POSTGRES'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/** A new database for a test on the PostgreSQL server that `HOMEOSTAT_TEST_POSTGRES` names. Default: 127.0.0.1:5432. */
export class TestDatabase {
  readonly url: string;
  readonly #admin: Client;
  readonly #name: string;

  private constructor(admin: Client, name: string) {
    const url = new URL(serverUrl);
    url.pathname = name;
    this.url = url.href;
    this.#admin = admin;
    this.#name = name;
  }

  /** Creates a database. Without a server, it skips the tests, or rejects if `HOMEOSTAT_TEST_POSTGRES` is set. */
  static async create(context: Mocha.Context): Promise<TestDatabase> {
    const admin = new Client({
      connectionString: serverUrl,
      connectionTimeoutMillis: testPatienceMs(5_000),
      pipeline: true,
    });
    try {
      await admin.connect();
    } catch (error) {
      if (process.env['HOMEOSTAT_TEST_POSTGRES'] !== undefined) throw error;
      return context.skipBecause(
        'there is no PostgreSQL server at the default address; HOMEOSTAT_TEST_POSTGRES can name another one',
        error,
      );
    }
    const name = `homeostat_test_${randomUUID().replaceAll('-', '')}`;
    await admin.query(`CREATE DATABASE ${name}`);
    return new TestDatabase(admin, name);
  }

  /**
   * Ends all sessions of the database, or only those with the given client ports, as a PostgreSQL server does when it
   * stops.
   */
  async endSessions(clientPorts?: readonly number[]): Promise<void> {
    await this.#admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = $1 AND ($2::int[] IS NULL OR client_port = ANY ($2))`,
      [this.#name, clientPorts ?? null],
    );
  }

  /**
   * Changes the database as a newer program does at its start: sets the next schema version, and executes the given
   * statements.
   */
  async upgrade(...changes: readonly string[]): Promise<void> {
    const client = new Client({ connectionString: this.url });
    await client.connect();
    try {
      const next = `UPDATE homeostat_meta SET value = (value::integer + 1)::text WHERE name = 'schema'`;
      await client.query(['BEGIN', ...changes, next, 'COMMIT'].join('; '));
    } finally {
      await client.end();
    }
  }

  async drop(): Promise<void> {
    await this.#admin.query(`DROP DATABASE ${this.#name} WITH (FORCE)`);
    await this.#admin.end();
  }
}
