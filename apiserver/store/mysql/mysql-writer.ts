import { sleep } from '@homeostat/controller-runtime';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import { historyOf, type MysqlHistory } from './found-history.ts';
import type { MysqlConnection, ResultRow } from './mysql-connection.ts';
import { isLockTimeout, isTransient, storeErrorFrom } from './mysql-errors.ts';
import { evict, lockDatabase, unlockDatabase } from './mysql-locks.ts';
import { migrate } from './mysql-migrator.ts';
import { checkServer, durabilityGap, openSession, readFacts } from './mysql-session.ts';
import * as sql from './mysql-statements.ts';
import { type MysqlDatabase, nameOf } from './mysql-url.ts';
import { PeriodicTask } from '../../base/periodic-task.ts';
import { checkSchemaVersion } from '../schema-version.ts';
import { ConnectionLink } from '../server/connection-link.ts';
import { KnownHistory } from '../server/known-history.ts';
import { SerialQueue } from '../serial-queue.ts';
import type { OpenedStore } from '../store.ts';
import { StoreError, storeErrorCodeOf } from '../store-error.ts';

export interface MysqlWriterParts {
  readonly database: MysqlDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uuid: () => string;
  /** True when no other store may have the database open. */
  readonly exclusive: boolean;
}

/**
 * The time, in seconds, after which the server ends a silent session, releases its locks and rolls back its
 * transaction. It is shorter than {@link lockPatienceMs}, the time for which a transaction of another process waits for
 * the lock of the `counter` row. So if a process hangs or loses its connection during a commit, the writes of other
 * processes do not fail. Heartbeats at a much shorter interval keep the session alive, and detect when it is lost.
 */
const idleTimeoutS = 8;
const heartbeatMs = 2_500;

/**
 * The maximum number of attempts at one transaction. It is repeated when the connection is lost, when the server rolls
 * it back because of a deadlock, and after KILL QUERY.
 */
const maxAttempts = 4;

/**
 * The maximum time for which a transaction waits for the lock of the `counter` row, in several attempts. It is longer
 * than {@link idleTimeoutS}, after which the server ends a silent session that holds this lock.
 */
const lockPatienceMs = 12_000;

/** The time for which the store tries to look up the outcome of a commit. After that, the outcome counts as unknown. */
const outcomePatienceMs = 30_000;
/** The pause between two attempts to look up the outcome of a commit. */
const outcomePauseMs = 250;

/** The last part of a transaction that writes a batch. */
export interface BatchEnd {
  readonly statements: readonly string[];
  /** The new value of the counter: the revision of the batch's last operation. */
  readonly revision: number;
  /** The id of the batch. */
  readonly batch: string;
}

/** The writing session. It executes one transaction after the other. Each one locks the row of the revision counter. */
export class MysqlWriter {
  readonly #parts: MysqlWriterParts;
  readonly history: KnownHistory;
  readonly #name: string;
  readonly #token: string;
  readonly #queue = new SerialQueue();
  readonly #link: ConnectionLink<MysqlConnection>;
  readonly #heartbeats: PeriodicTask;
  #isClosed = false;

  constructor(parts: MysqlWriterParts) {
    const { clock, logger, uuid } = parts;
    this.#parts = parts;
    this.#name = nameOf(parts.database);
    this.#token = uuid();
    this.#heartbeats = new PeriodicTask({ clock, intervalMs: heartbeatMs, run: () => this.#beat() });
    this.history = new KnownHistory(this.#name);
    this.#link = new ConnectionLink(
      { connect: () => this.#connect(), clock },
      {
        // An error at the first connection is thrown immediately.
        mayPass: (_, wasConnected) => wasConnected,
        onDown: (err) => logger.warn({ err, database: this.#name }, 'the database cannot be written; trying again'),
        onUp: () => logger.info({ database: this.#name }, 'connected to the database again'),
      },
    );
  }

  /** Connects, takes the store's locks and brings the tables up to date. */
  async open(): Promise<OpenedStore> {
    const connection = await this.#link.open();
    const [[row = []] = []] = await connection.query(sql.lookAt(0));
    const { revision, compactRevision, epoch } = historyOf(row);
    this.history.start({ revision, compactRevision, epoch });
    this.#heartbeats.start();
    return { revision, compactRevision, epoch };
  }

  /**
   * Runs a transaction that can be repeated: repeats it when the connection is lost, even at the commit. `body` runs
   * with the lock of the revision counter, and receives the state of the database's history under this lock.
   */
  transaction<Result>(body: (connection: MysqlConnection, found: MysqlHistory) => Promise<Result>): Promise<Result> {
    return this.exclusively(async (connection) => {
      const { found } = await this.begin(connection);
      const result = await body(connection, found);
      await connection.query(sql.commit);
      return result;
    });
  }

  /**
   * Runs `attempt` when all earlier calls have ended. Repeats it after transient errors, for up to {@link maxAttempts}
   * attempts, and after lock timeouts, until {@link lockPatienceMs} have passed. Rolls back the transaction after each
   * failure. Rejects with StoreError.
   */
  exclusively<Result>(attempt: (connection: MysqlConnection) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new StoreError('closed', 'the store is not open'));
    return this.#queue.run(async () => {
      const untilMs = this.#parts.clock.monotonicMs() + lockPatienceMs;
      for (let failures = 0; ;) {
        const connection = await this.#link.get();
        try {
          return await attempt(connection);
        } catch (error) {
          await undo(connection);
          if (isTransient(error)) failures += 1;
          const mayRepeat = isLockTimeout(error) ? this.#parts.clock.monotonicMs() < untilMs : isTransient(error);
          if (!mayRepeat || failures >= maxAttempts) throw storeErrorFrom(error, this.#name);
        }
      }
    });
  }

  /**
   * Starts a transaction and locks the revision counter. Returns the state of the database's history under this lock
   * (`found`), and the results of the queries `reads` (`answers`).
   */
  async begin(
    connection: MysqlConnection,
    reads: readonly string[] = [],
  ): Promise<{ readonly found: MysqlHistory; readonly answers: readonly (readonly ResultRow[])[] }> {
    const known = this.history.last;
    const [, , [row = []] = [], ...answers] = await connection.query(
      sql.begin,
      sql.lockCounter,
      sql.lookAt(known.revision),
      ...reads,
    );
    const found = historyOf(row);
    checkSchemaVersion({ migrations: sql.migrations, version: found.schema, name: this.#name });
    this.history.check(found, known);
    return { found, answers };
  }

  /**
   * Commits a batch whose log is already written; resolves when it is committed. If the response to COMMIT is lost, a
   * new session waits for the lock of the counter, and then looks up the batch. The lost session keeps this lock until
   * its transaction is committed or rolled back, so the look-up sees the final result. Rejects with the error of the
   * COMMIT when the batch is not committed. Rejects with StoreError `unknown` when the server does not respond in time,
   * or when the log of the batch has been compacted before the look-up.
   */
  async finish(connection: MysqlConnection, end: BatchEnd): Promise<void> {
    const { statements, revision, batch } = end;
    try {
      await connection.query(...statements, sql.setCounter(revision), sql.commit);
    } catch (error) {
      connection.destroy();
      if (!(await this.#wasCommitted(end))) throw error;
    }
    this.history.learn(revision, batch);
  }

  /** Finishes pending transactions, and releases the locks. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#heartbeats.stop();
    await this.#queue.drained();
    const connection = this.#link.current;
    // An error is ignored: when the session is lost, the database releases its locks by itself.
    if (connection) await unlockDatabase(connection).catch(() => undefined);
    await this.#link.close();
  }

  async #connect(): Promise<MysqlConnection> {
    const { database, clock, logger, uuid, exclusive } = this.#parts;
    const connection = await openSession({ database, clock, idleTimeoutS });
    try {
      const facts = await readFacts(connection);
      checkServer(facts, this.#name);
      await lockDatabase(connection, { name: this.#name, token: this.#token, exclusive });
      await migrate(connection, { name: this.#name, epoch: uuid() });
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

  async #wasCommitted(end: BatchEnd): Promise<boolean> {
    const { clock } = this.#parts;
    const untilMs = clock.monotonicMs() + outcomePatienceMs;
    for (;;) {
      try {
        return await this.#lookFor(end);
      } catch (error) {
        if (isFinal(error)) throw error;
        if (clock.monotonicMs() >= untilMs) {
          const message = `the connection to ${this.#name} was lost during a commit; it is unknown whether the writes are stored`;
          throw new StoreError('unknown', message, { cause: error });
        }
      }
      await sleep(clock, outcomePauseMs);
    }
  }

  /**
   * Returns true when the batch is written. One revision is enough for the look-up: no other store writes during the
   * transaction of a batch, so the batch has either all of its revisions or none.
   */
  async #lookFor({ revision, batch }: BatchEnd): Promise<boolean> {
    const connection = await openSession({ ...this.#parts, idleTimeoutS });
    try {
      await evict(connection, this.#token);
      const { found, answers } = await this.begin(connection, [sql.getBatch(revision)]);
      if (answers[0]?.[0]?.[0] === batch) return true;
      if (found.compactRevision < revision) return false;
      const message = `the connection to ${this.#name} was lost during a commit, and the history since then is compacted; it is unknown whether the writes are stored`;
      throw new StoreError('unknown', message);
    } finally {
      connection.destroy();
    }
  }

  async #beat(): Promise<void> {
    // An error is ignored here: if the link cannot reconnect, `onDown` logs the error, and the next write fails.
    await this.exclusively((connection) => connection.query('DO 0')).catch(() => undefined);
  }
}

/**
 * Returns true for an error that a retry cannot cure: if the writer asked the database again whether a commit is
 * stored, the question would fail with the same error.
 */
function isFinal(error: unknown): boolean {
  const code = storeErrorCodeOf(error);
  return code === 'unknown' || code === 'diverged';
}

/** Rolls back the transaction of a session; closes the session if this fails. */
async function undo(connection: MysqlConnection): Promise<void> {
  if (connection.isLost) return;
  await connection.query(sql.rollback).catch(() => connection.destroy());
}
