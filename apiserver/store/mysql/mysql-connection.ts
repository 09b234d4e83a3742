import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import type { Connection, SslOptions } from 'mysql2';

import { fromDriver, LostConnectionError } from './mysql-errors.ts';
import type { MysqlDatabase } from './mysql-url.ts';
import { packRows } from './statement-packing.ts';

/** The maximum time in which a server must accept a connection. */
const connectTimeoutMs = 5_000;

/** The time without a response after which the connection counts as lost. It is longer than any wait for a lock. */
const answerTimeoutMs = 40_000;

/**
 * The maximum number of prepared statements that a connection keeps. INSERTs into the log with different numbers of
 * rows are different prepared statements.
 */
const maxPreparedStatements = 256;

/**
 * The maximum number of bytes of statements in one packet; further statements are sent in another packet. Each
 * statement is shorter than this maximum, and the server accepts packets of at least 4 MiB.
 */
const maxPacketBytes = 1024 * 1024;

/** A value from the driver. The type depends on the column: numbers, `Buffer` for binary columns, otherwise strings. */
type Cell = number | string | Uint8Array | null;
export type ResultRow = readonly Cell[];

/** A session with the server. Responses arrive in the order of the requests. */
export class MysqlConnection {
  readonly #driver: Connection;
  readonly #clock: Clock;
  /** The functions that reject the pending requests. */
  readonly #waiting = new Set<(error: Error) => void>();
  #lost: Error | undefined;

  private constructor(driver: Connection, clock: Clock) {
    this.#driver = driver;
    this.#clock = clock;
    driver.on('error', (error: unknown) => this.#onLost(fromDriver(error)));
    driver.on('end', () => this.#onLost(new LostConnectionError('the server closed the connection')));
  }

  /**
   * Connects and logs in. Rejects with LostConnectionError when the server does not respond, and with MysqlServerError
   * when it refuses the login.
   */
  static async open(database: MysqlDatabase, clock: Clock): Promise<MysqlConnection> {
    const { createConnection } = await import('mysql2');
    const { sslMode, ...account } = database;
    const ssl = sslOptions(sslMode);
    const driver = createConnection({
      ...account,
      ...(ssl && { ssl }),
      connectTimeout: connectTimeoutMs,
      // Several statements in one text are safe, because the store itself creates all statements, and all values in
      // them are integers or hexadecimal literals.
      multipleStatements: true,
      rowsAsArray: true,
      maxPreparedStatements,
      // This flag forbids LOAD DATA LOCAL, with which a server could read files of this machine.
      flags: ['-LOCAL_FILES'],
    });
    const connection = new MysqlConnection(driver, clock);
    try {
      await connection.#answer<void>((done) => driver.connect(done));
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  /** True when no more requests are possible. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** The id that the server has given the connection. */
  get id(): number {
    return this.#driver.threadId;
  }

  /**
   * Sends several statements together, and returns the rows of each. If a statement fails, the following ones are not
   * executed.
   */
  async query(...statements: readonly string[]): Promise<readonly (readonly ResultRow[])[]> {
    const results: (readonly ResultRow[])[] = [];
    // Statements contain only ASCII, so their length is their size in bytes.
    const packets = packRows(statements, {
      maxRows: Infinity,
      maxBytes: maxPacketBytes,
      sizeOf: ({ length }) => length,
    });
    for (const packet of packets) results.push(...(await this.#queryPacket(packet)));
    return results;
  }

  async #queryPacket(statements: readonly string[]): Promise<(readonly ResultRow[])[]> {
    const sql = statements.join(';\n');
    const answer = await this.#answer<unknown>((done) => this.#driver.query({ sql, rowsAsArray: true }, done));
    const results = statements.length === 1 ? [answer] : answer;
    return (results as unknown[]).map((rows) => (Array.isArray(rows) ? (rows as ResultRow[]) : []));
  }

  /** Executes one statement with binary values. The statement is prepared, and kept for the next call. */
  async execute(sql: string, values: readonly Cell[]): Promise<void> {
    await this.#answer<unknown>((done) => this.#driver.execute(sql, [...values], done));
  }

  /** Waits for pending requests, then closes the connection. */
  async end(): Promise<void> {
    if (this.#lost) return;
    const ended = this.#answer<void>((done) => this.#driver.end(done));
    // A connection that is lost meanwhile has ended as well, so the error is ignored.
    await ended.catch(() => undefined);
    this.destroy();
  }

  /** Closes the connection immediately. Pending requests reject. */
  destroy(): void {
    this.#onLost(new LostConnectionError('the store has closed the connection'));
    this.#driver.destroy();
    // The driver would only close its own side, and then wait for the server, which may be gone.
    (this.#driver as unknown as { readonly stream: { destroy(): void } }).stream.destroy();
  }

  #answer<Answer>(ask: (done: (error: unknown, answer: Answer) => void) => void): Promise<Answer> {
    if (this.#lost) return Promise.reject(new LostConnectionError(this.#lost.message));
    return new Promise((resolve, reject) => {
      const timer: Timer = this.#clock.setTimeout(() => this.destroy(), answerTimeoutMs);
      const fail = (error: Error): void => {
        this.#clock.clearTimeout(timer);
        this.#waiting.delete(fail);
        reject(error);
      };
      this.#waiting.add(fail);
      ask((error, answer) => {
        this.#clock.clearTimeout(timer);
        this.#waiting.delete(fail);
        if (error === null || error === undefined) resolve(answer);
        else reject(this.#failed(error));
      });
    });
  }

  #failed(error: unknown): Error {
    const failure = fromDriver(error);
    if (failure instanceof LostConnectionError) {
      this.#onLost(failure);
      this.destroy();
    }
    return failure;
  }

  #onLost(error: Error): void {
    this.#lost ??= error;
    for (const fail of this.#waiting) fail(this.#lost);
  }
}

function sslOptions(mode: MysqlDatabase['sslMode']): SslOptions | undefined {
  if (mode === 'DISABLED') return undefined;
  return { rejectUnauthorized: mode === 'VERIFY_IDENTITY', verifyIdentity: mode === 'VERIFY_IDENTITY' };
}
