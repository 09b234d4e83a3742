import { Socket } from 'node:net';

import { Client } from 'pg';

import { storeErrorFrom } from './postgres-errors.ts';
import type { Statement } from './postgres-statements.ts';
import { parsePostgresUrl, type SessionAttributes } from './postgres-url.ts';
import { StoreError } from '../store-error.ts';

/** The maximum time in which a server must accept a connection. */
const connectTimeoutMs = 5_000;

/**
 * The timeout for the connection to one host, when there are several hosts. Callers wait for 5 s, so a host that does
 * not respond must leave time for the next one.
 */
const hostTimeoutMs = 2_000;

/** The time without a response after which the connection counts as lost. It is longer than any statement takes. */
const answerTimeoutMs = 40_000;

/** The time without traffic after which {@link PostgresConnection.end} no longer waits for the server to close. */
const goodbyeTimeoutMs = 10_000;

/**
 * The settings of a session. `lock_timeout` limits each wait for a lock. `idle_in_transaction_session_timeout` ends a
 * stalled session, because all writers wait while it has the lock of the counter. `synchronous_commit`: an asynchronous
 * commit could lose acknowledged writes. The keepalives let the server notice a lost client, whose locks it would
 * otherwise keep. All reads and writes are by key, for a few rows at a time. So plans are made once, and must use
 * indexes: otherwise a plan that was made for an empty table would later read all of the table.
 */
const sessionSettings = `SET lock_timeout = '2s'; SET statement_timeout = '30s';
  SET idle_in_transaction_session_timeout = '10s';
  SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
  SET plan_cache_mode = force_generic_plan; SET jit = off; SET work_mem = '64MB';
  SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off`;

const findAttributes = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS readonly`;

/** The SQLSTATE code of a warning that has no more specific code. */
const unspecificWarning = '01000';

/**
 * The types that are parsed as numbers. A number is precise enough for a revision, which is well below 2^53. Bytes stay
 * hexadecimal text until a page of them is packed.
 */
const numeric = new Set([20, 21, 23]);
const boolean = 16;
const types = {
  getTypeParser: (oid: number) => (text: string) => {
    if (numeric.has(oid)) return Number(text);
    return oid === boolean ? text === 't' : text;
  },
};

/**
 * A session with the server. Statements are sent without waiting for earlier responses; responses arrive in the order
 * of the statements.
 */
export class PostgresConnection {
  readonly #client: Client;
  readonly #socket: Socket;
  #isLost = false;
  #warnings = 0;

  private constructor(client: Client, socket: Socket) {
    this.#client = client;
    this.#socket = socket;
    const lost = (): void => void (this.#isLost = true);
    // The pending requests reject as well, so the error needs no further handling.
    client.on('error', lost);
    client.on('end', lost);
    client.on('notice', ({ code }) => {
      if (code === unspecificWarning) this.#warnings += 1;
    });
  }

  /**
   * Opens a session with the first server of the URL that accepts the login and has the requested session attributes.
   * Rejects with a RangeError for an invalid URL. If no server can be used, rejects with a StoreError that names the
   * problem of each server; its code is `io` if the problem of any server has this code.
   */
  static async open(url: string): Promise<PostgresConnection> {
    const { urls, attributes } = parsePostgresUrl(url);
    const failures: StoreError[] = [];
    for (const each of urls) {
      const timeoutMs = urls.length === 1 ? connectTimeoutMs : hostTimeoutMs;
      try {
        return await PostgresConnection.#openOne(each, { attributes, timeoutMs });
      } catch (error) {
        failures.push(storeErrorFrom(error, 'cannot connect'));
      }
    }
    throw failureOf(failures);
  }

  static async #openOne(
    url: string,
    { attributes, timeoutMs }: { readonly attributes: SessionAttributes; readonly timeoutMs: number },
  ): Promise<PostgresConnection> {
    const socket = new Socket();
    const client = new Client({
      connectionString: url,
      stream: () => socket,
      pipeline: true,
      keepAlive: true,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: answerTimeoutMs,
      fallback_application_name: 'homeostat',
      types,
    });
    const connection = new PostgresConnection(client, socket);
    try {
      await client.connect();
      // A connection pooler accepts logins even while it has no server, so the first statements have a time limit as
      // well.
      socket.setTimeout(timeoutMs, () => connection.destroy());
      await connection.execute(sessionSettings);
      await connection.#check(attributes);
      socket.setTimeout(0);
      return connection;
    } catch (error) {
      connection.destroy();
      throw storeErrorFrom(error, `cannot connect to ${serverOf(client)}`);
    }
  }

  /** True when the connection is lost, so that no request can succeed any more. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * The number of warnings with the code {@link unspecificWarning} that the server has sent. Such a warning at a COMMIT
   * means that the server has not waited until the standby has the commit:
   * https://www.postgresql.org/docs/current/runtime-config-replication.html
   */
  get warnings(): number {
    return this.#warnings;
  }

  /** The name of the database, for messages, without user and password. */
  get name(): string {
    return `${serverOf(this.#client)}/${this.#client.database ?? ''}`;
  }

  onNotification(listen: (payload: string) => void): void {
    this.#client.on('notification', ({ payload }) => listen(payload ?? ''));
  }

  onEnd(listen: () => void): void {
    this.#client.once('end', listen);
  }

  /** Executes SQL without parameters. Returns the tag of the command; an empty text for several statements. */
  async execute(text: string): Promise<string> {
    const result = await this.#client.query(text);
    return Array.isArray(result) ? '' : result.command;
  }

  /** Executes a statement, and returns its rows. The caller must know the types of the columns. */
  async query<Row extends object>(statement: Statement | string, values: readonly unknown[] = []): Promise<Row[]> {
    const text = typeof statement === 'string' ? { text: statement } : statement;
    const { rows } = await this.#client.query<Row>({ ...text, values: [...values] });
    return rows;
  }

  /** Calls `send`. All messages that `send` writes to the socket are sent together when it returns. */
  together<Result>(send: () => Result): Result {
    this.#socket.cork();
    try {
      return send();
    } finally {
      this.#socket.uncork();
    }
  }

  async #check(attributes: SessionAttributes): Promise<void> {
    if (attributes === 'any') return;
    const [found] = await this.query<{ standby: boolean; readonly: boolean }>(findAttributes);
    if (found?.standby === true) throw new StoreError('readOnly', `${serverOf(this.#client)} is a standby`);
    if (attributes === 'read-write' && found?.readonly === true)
      throw new StoreError('readOnly', `${serverOf(this.#client)} accepts no writes: its transactions are read-only`);
  }

  /** Waits for pending requests, then closes the connection. */
  async end(): Promise<void> {
    if (this.#isLost) return;
    this.#socket.setTimeout(goodbyeTimeoutMs, () => this.destroy());
    await this.#client.end();
  }

  /** Closes the connection immediately. Pending requests reject. */
  destroy(): void {
    this.#isLost = true;
    this.#socket.destroy();
  }
}

/**
 * Returns the failure of the attempts with all servers. Its code is `io` if one of the failures is transient, otherwise
 * the code of the first failure.
 */
function failureOf(failures: readonly StoreError[]): StoreError {
  const first = failures.find(({ code }) => code === 'io') ?? failures[0];
  if (!first || failures.length === 1) return first ?? new StoreError('io', 'no server to connect to');
  const reasons = failures.map(({ message }) => message).join('; ');
  return new StoreError(first.code, `none of ${failures.length} servers can be used: ${reasons}`, { cause: first });
}

function serverOf({ host, port }: Client): string {
  return host.startsWith('/') ? `${host}:${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
