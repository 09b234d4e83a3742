import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import type { Connection, SslOptions } from 'mysql2';

import { fromDriver, LostConnectionError } from './mysql-errors.ts';
import type { MysqlDatabase } from './mysql-url.ts';
import { packRows } from './statement-packing.ts';

/** Until a server has answered and let us in. */
const connectTimeoutMs = 5_000;

/** Longer than any lock is waited for: a server that is silent beyond it is gone. */
const answerTimeoutMs = 40_000;

/** Prepared statements of one connection: those of a full chunk and of what is left over of a batch. */
const maxPreparedStatements = 256;

/** Statements beyond it go in a packet of their own. A single one is shorter, and the server takes at least 4 MiB. */
const maxPacketBytes = 1024 * 1024;

/** A value as the driver gives it, by the column's type: numbers, `Buffer` for binary columns, strings for the rest. */
type Cell = number | string | Uint8Array | null;
export type ResultRow = readonly Cell[];

/** A session with the server; what is asked is answered in order. */
export class MysqlConnection {
  readonly #driver: Connection;
  readonly #clock: Clock;
  /** Rejects what waits for an answer. */
  readonly #waiting = new Set<(error: Error) => void>();
  #lost: Error | undefined;

  private constructor(driver: Connection, clock: Clock) {
    this.#driver = driver;
    this.#clock = clock;
    driver.on('error', (error: unknown) => this.#onLost(fromDriver(error)));
    driver.on('end', () => this.#onLost(new LostConnectionError('the server closed the connection')));
  }

  /** Rejects with LostConnectionError while nobody answers, and with MysqlServerError when we are not let in. */
  static async open(database: MysqlDatabase, clock: Clock): Promise<MysqlConnection> {
    const { createConnection } = await import('mysql2');
    const { sslMode, ...account } = database;
    const ssl = sslOptions(sslMode);
    const driver = createConnection({
      ...account,
      ...(ssl && { ssl }),
      connectTimeout: connectTimeoutMs,
      // All statements are ours, and all values in their text are integers and hexadecimal literals.
      multipleStatements: true,
      rowsAsArray: true,
      maxPreparedStatements,
      // No server may ask for a file of this machine.
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

  /** Nothing can be asked any more. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** The connection's id at the server. */
  get id(): number {
    return this.#driver.threadId;
  }

  /** Sends statements together; answers the rows of each. Those after one that fails are not carried out. */
  async query(...statements: readonly string[]): Promise<readonly (readonly ResultRow[])[]> {
    const results: (readonly ResultRow[])[] = [];
    // All of it is ASCII.
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

  /** One statement with binary values; prepared, and kept for the next time. */
  async execute(sql: string, values: readonly Cell[]): Promise<void> {
    await this.#answer<unknown>((done) => this.#driver.execute(sql, [...values], done));
  }

  /** Waits for what was asked, and says goodbye. */
  async end(): Promise<void> {
    if (this.#lost) return;
    const ended = this.#answer<void>((done) => this.#driver.end(done));
    // A connection that is lost meanwhile has ended as well.
    await ended.catch(() => undefined);
    this.destroy();
  }

  /** Ends it at once; what was asked rejects. */
  destroy(): void {
    this.#onLost(new LostConnectionError('the connection was given up'));
    this.#driver.destroy();
    // The driver only ends its side, for which a server that is gone would let us wait.
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
