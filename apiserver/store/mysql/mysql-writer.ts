import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';

import { ConnectionLink } from './connection-link.ts';
import type { MysqlConnection, ResultRow } from './mysql-connection.ts';
import { isTransient, storeErrorFrom } from './mysql-errors.ts';
import { migrate } from './mysql-migrator.ts';
import { checkUnmoved, evict, lockDatabase, markOwner, type Ownership, unlockDatabase } from './mysql-owner.ts';
import { checkServer, durabilityGap, openSession, readFacts } from './mysql-session.ts';
import * as sql from './mysql-statements.ts';
import { type MysqlDatabase, nameOf } from './mysql-url.ts';
import { SerialQueue } from '../serial-queue.ts';
import { StoreError } from '../store-error.ts';

export interface MysqlWriterOptions {
  readonly database: MysqlDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
}

/**
 * The server ends a session that is silent for so long, with its locks: a process that hangs or is cut off does not keep
 * the next one out. Well below it, the session says that it lives, and notices that it does not.
 */
const idleTimeoutS = 60;
const heartbeatMs = 15_000;

/** Of one transaction, when the connection is lost or the server breaks a deadlock. */
const maxAttempts = 4;

/** How long the outcome of a commit is asked for before it is said to be unknown, and the pause between two questions. */
const outcomePatienceMs = 30_000;
const outcomePauseMs = 250;

/** The session that writes: one transaction after the other, under the counter's lock and with the store's. */
export class MysqlWriter {
  readonly #options: MysqlWriterOptions;
  readonly #name: string;
  readonly #token: string;
  readonly #queue = new SerialQueue();
  readonly #link: ConnectionLink<MysqlConnection>;
  #ownership: Ownership | undefined;
  #revision = 0;
  #heartbeat: Timer | undefined;
  #isClosed = false;

  constructor(options: MysqlWriterOptions) {
    const { clock, logger, uuid } = options;
    this.#options = options;
    this.#name = nameOf(options.database);
    this.#token = uuid();
    this.#link = new ConnectionLink({
      connect: () => this.#connect(),
      clock,
      onDown: (err) => logger.warn({ err, database: this.#name }, 'the database cannot be written; trying again'),
      onUp: () => logger.info({ database: this.#name }, 'connected to the database again'),
    });
  }

  /** The revision of the last commit. */
  get revision(): number {
    return this.#revision;
  }

  /** Connects, takes the store's lock and brings the tables up to date; answers the session, for a first look. */
  async open(): Promise<MysqlConnection> {
    const connection = await this.#link.open();
    const [[[revision] = []] = []] = await connection.query(sql.getCounter);
    this.#revision = Number(revision);
    this.#beatLater();
    return connection;
  }

  /**
   * A transaction that can be repeated: it is, when the connection is lost, even at its end. `body` has the counter's lock.
   */
  transaction<Result>(body: (connection: MysqlConnection, revision: number) => Promise<Result>): Promise<Result> {
    return this.exclusively(async (connection) => {
      await this.begin(connection);
      const result = await body(connection, this.#revision);
      await connection.query(sql.commit);
      return result;
    });
  }

  /**
   * Runs an attempt when all before it are done, and again while it fails of what passes by itself. Whatever is left of its
   * transaction is undone in between. Rejects with StoreError.
   */
  exclusively<Result>(attempt: (connection: MysqlConnection) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new StoreError('closed', 'the store is not open'));
    return this.#queue.run(async () => {
      for (let attempts = 1; ; attempts += 1) {
        const connection = await this.#link.get();
        try {
          return await attempt(connection);
        } catch (error) {
          await undo(connection);
          if (attempts >= maxAttempts || !isTransient(error)) throw storeErrorFrom(error, this.#name);
        }
      }
    });
  }

  /** Begins a transaction with the counter's lock, and answers what was read under it. */
  async begin(connection: MysqlConnection, reads: readonly string[] = []): Promise<readonly (readonly ResultRow[])[]> {
    const [, counter, ...answers] = await connection.query(sql.begin, sql.lockCounter, ...reads);
    checkUnmoved(Number(counter?.[0]?.[0]), this.#revision, this.#name);
    return answers;
  }

  /**
   * Commits a batch, whose log has been written, and tells whether it did. The answer to COMMIT may be lost: then the batch
   * is looked for, under the counter's lock, which the lost session had until its transaction was committed or undone.
   * Rejects with StoreError `unknown` when nobody can be asked in time.
   */
  async finish(
    connection: MysqlConnection,
    { statements, revision, batch }: { statements: readonly string[]; revision: number; batch: string },
  ): Promise<void> {
    try {
      await connection.query(...statements, sql.setCounter(revision), sql.commit);
    } catch (error) {
      connection.destroy();
      if (!(await this.#wasCommitted(revision, batch))) throw error;
    }
    this.#revision = revision;
  }

  /** Finishes what was asked before, and gives the lock back. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#options.clock.clearTimeout(this.#heartbeat);
    await this.#queue.drained();
    const connection = this.#link.current;
    // A session that is lost has no lock to give back.
    if (connection) await unlockDatabase(connection).catch(() => undefined);
    await this.#link.close();
  }

  async #connect(): Promise<MysqlConnection> {
    const { database, clock, logger, uuid } = this.#options;
    const connection = await openSession({ database, clock, idleTimeoutS });
    try {
      const facts = await readFacts(connection);
      checkServer(facts, this.#name);
      await lockDatabase(connection, this.#name, this.#ownership);
      await migrate(connection, { name: this.#name, epoch: uuid() });
      this.#ownership = await markOwner(connection, this.#token);
      const gap = durabilityGap(facts);
      if (gap !== undefined) {
        logger.warn({ database: this.#name }, `acknowledged writes may be lost in a power cut: ${gap}`);
      }
      return connection;
    } catch (error) {
      connection.destroy();
      throw storeErrorFrom(error, `cannot open ${this.#name}`);
    }
  }

  async #wasCommitted(revision: number, batch: string): Promise<boolean> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + outcomePatienceMs;
    for (;;) {
      try {
        return await this.#lookFor(revision, batch);
      } catch (error) {
        if (clock.monotonicMs() >= untilMs) {
          const message = `${this.#name} was lost at a commit, and does not say whether it was written`;
          throw new StoreError('unknown', message, { cause: error });
        }
      }
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, outcomePauseMs));
    }
  }

  async #lookFor(revision: number, batch: string): Promise<boolean> {
    const connection = await openSession({ ...this.#options, idleTimeoutS });
    try {
      if (this.#ownership) await evict(connection, this.#ownership);
      const [, , found] = await connection.query(sql.begin, sql.lockCounter, sql.getBatch(revision), sql.rollback);
      return found?.[0]?.[0] === batch;
    } finally {
      connection.destroy();
    }
  }

  #beatLater(): void {
    this.#heartbeat = this.#options.clock.setTimeout(() => void this.#beat(), heartbeatMs);
  }

  async #beat(): Promise<void> {
    // A failure has been logged by the link, and the next write meets it as well.
    await this.exclusively((connection) => connection.query('DO 0')).catch(() => undefined);
    if (!this.#isClosed) this.#beatLater();
  }
}

/** A session whose transaction cannot be ended is ended itself. */
async function undo(connection: MysqlConnection): Promise<void> {
  if (connection.isLost) return;
  await connection.query(sql.rollback).catch(() => connection.destroy());
}
