import { randomUUID } from 'node:crypto';
import { testPatienceMs } from '@homeostat/controller-runtime/testing';
import { createConnection } from 'mysql2/promise';
import type { Connection, RowDataPacket } from 'mysql2/promise';

const serverUrl = process.env['HOMEOSTAT_TEST_MYSQL'] ?? 'mysql://root@127.0.0.1:3306';

/**
 * A new database for a test on the MySQL or MariaDB server that `HOMEOSTAT_TEST_MYSQL` names. Default: 127.0.0.1:3306.
 */
export class MysqlTestDatabase {
  readonly url: string;
  readonly #admin: Connection;
  readonly #name: string;

  private constructor(admin: Connection, name: string) {
    const url = new URL(serverUrl);
    url.pathname = name;
    this.url = url.href;
    this.#admin = admin;
    this.#name = name;
  }

  /** Creates a database. Without a server, it skips the tests, or rejects if `HOMEOSTAT_TEST_MYSQL` is set. */
  static async create(context: Mocha.Context): Promise<MysqlTestDatabase> {
    let admin: Connection;
    try {
      admin = await createConnection({ uri: new URL('/mysql', serverUrl).href, connectTimeout: testPatienceMs(5_000) });
    } catch (error) {
      if (process.env['HOMEOSTAT_TEST_MYSQL'] !== undefined) throw error;
      return context.skipBecause(
        'there is no MySQL or MariaDB server at the default address; HOMEOSTAT_TEST_MYSQL can name another one',
        error,
      );
    }
    const name = `homeostat_test_${randomUUID().replaceAll('-', '')}`;
    await admin.query(`CREATE DATABASE ${name}`);
    return new MysqlTestDatabase(admin, name);
  }

  /** Ends all sessions of the database, or only those with the given client ports. */
  async endSessions(clientPorts?: readonly number[]): Promise<void> {
    const [rows] = await this.#admin.query<(RowDataPacket & { id: number; host: string })[]>(
      'SELECT id AS id, host AS host FROM information_schema.processlist WHERE db = ?',
      [this.#name],
    );
    for (const { id, host } of rows) {
      const port = Number(host.split(':').at(-1));
      if (clientPorts !== undefined && !clientPorts.includes(port)) continue;
      // The session may have ended already.
      await this.#admin.query(`KILL ${id}`).catch(() => undefined);
    }
  }

  /**
   * Changes the database as a newer program does at its start: sets the next schema version, and executes the given
   * statements.
   */
  async upgrade(...changes: readonly string[]): Promise<void> {
    const connection = await createConnection({ uri: this.url });
    try {
      const next = `UPDATE meta SET value = value + 1 WHERE name = 'schema'`;
      for (const statement of [next, ...changes]) await connection.query(statement);
    } finally {
      await connection.end();
    }
  }

  async drop(): Promise<void> {
    await this.endSessions();
    await this.#admin.query(`DROP DATABASE ${this.#name}`);
    await this.#admin.end();
  }
}
