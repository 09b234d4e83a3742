import type { Clock } from '@homeostat/controller-runtime/api';

import { BatchOutcomes } from './batch-outcomes.ts';
import { sendBatch } from './postgres-batch.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { isServerError, storeErrorFrom } from './postgres-errors.ts';
import {
  findCommit,
  findHistory,
  type KnownCommits,
  type SentCommit,
  startHistory,
  type WrittenKeys,
} from './postgres-history.ts';
import { checkSchemaRow } from './postgres-schema.ts';
import { type Isolation, openWritingSession, transaction } from './postgres-session.ts';
import * as sql from './postgres-statements.ts';
import { ConnectionLink } from '../server/connection-link.ts';
import { SerialQueue } from '../serial-queue.ts';
import { StoreError } from '../store-error.ts';
import type { Committed, OpenedStore, Operation } from '../store.ts';

/** The maximum number of times that a transaction is sent when its connection is lost. */
const maxAttempts = 3;

export interface WriterParts {
  readonly url: string;
  readonly clock: Clock;
  readonly uuid: () => string;
  readonly exclusive?: boolean;
  /**
   * Called for each new session except the first one. The store then also replaces the connection by which it reads,
   * because this connection may still lead to a former primary.
   */
  readonly onNewSession: () => void;
}

/** Writes to a database: runs the transactions of one store, one after the other. */
export class PostgresWriter {
  readonly #parts: WriterParts;
  readonly #id: string;
  readonly #queue = new SerialQueue();
  readonly #link: ConnectionLink<PostgresConnection>;
  #known: KnownCommits | undefined;
  #compactRevision = 0;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#id = parts.uuid();
    this.#link = new ConnectionLink({ clock: parts.clock, connect: () => this.#connect() }, { mayPass });
  }

  async open(): Promise<OpenedStore> {
    await this.#link.open();
    const { revision = 0, epoch = '' } = this.#known ?? {};
    return { revision, compactRevision: this.#compactRevision, epoch };
  }

  /**
   * Records a revision that was read. If the history of the database later lacks this revision, the history has
   * diverged.
   */
  learn(revision: number): void {
    if (this.#known && revision > this.#known.revision) this.#known = { ...this.#known, revision };
  }

  commit(batch: readonly Operation[]): Promise<Committed> {
    return this.#queue.run(() => this.#commit(batch));
  }

  /** Runs `body` in a transaction. Repeats the transaction when the connection is lost, even at the commit. */
  transaction<Result>(
    body: (connection: PostgresConnection) => Promise<Result>,
    isolation?: Isolation,
  ): Promise<Result> {
    return this.#queue.run(() => this.#transaction(body, isolation));
  }

  startHistory(revision: number): Promise<OpenedStore> {
    return this.#queue.run(async () => {
      const begun = await this.#transaction((connection) => startHistory(connection, revision));
      this.#known = { revision: begun.revision, epoch: begun.epoch };
      return begun;
    });
  }

  /** Closes the session after all earlier requests have ended. */
  async close(): Promise<void> {
    await this.#queue.drained();
    await this.#link.close();
  }

  async #connect(): Promise<PostgresConnection> {
    const { url, exclusive = false } = this.#parts;
    const connection = await openWritingSession({ url, storeId: this.#id, isExclusive: exclusive });
    try {
      const found = await transaction(connection, () => findHistory(connection, this.#known));
      if (this.#known) this.#parts.onNewSession();
      this.#known ??= { revision: found.revision, epoch: found.epoch };
      this.learn(found.revision);
      this.#compactRevision = found.compactRevision;
      return connection;
    } catch (error) {
      connection.destroy();
      throw storeErrorFrom(error, connection.name);
    }
  }

  /**
   * Sends a batch until all its operations have an outcome, at most {@link maxAttempts} times. After a lost connection,
   * first looks up the outcome of the lost transaction, and then sends only the operations that were not written. So
   * nothing is written twice, and every reported outcome is true. If it fails after a part of the batch was written,
   * rejects with StoreError `unknown`.
   */
  async #commit(batch: readonly Operation[]): Promise<Committed> {
    const outcomes = new BatchOutcomes(batch);
    try {
      let lost: unknown;
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        lost = await this.#send(outcomes);
        if (outcomes.committed) return outcomes.committed;
      }
      throw storeErrorFrom(lost, 'the connection was lost at every attempt to commit');
    } catch (cause) {
      if (outcomes.isEmpty) throw cause;
      throw new StoreError('unknown', 'the connection was lost; a part of this batch was stored', { cause });
    }
  }

  /**
   * Sends the operations that have no outcome yet, as one transaction. If the response is lost, looks up and records
   * which operations were written, and then resolves with the error of the connection. Rejects when the database
   * refuses the transaction. Otherwise resolves with undefined.
   */
  async #send(outcomes: BatchOutcomes): Promise<unknown> {
    const connection = await this.#link.get();
    const sent: SentCommit = { id: this.#parts.uuid(), after: this.#known?.revision ?? 0 };
    const result = await sendBatch(connection, outcomes.rest, sent.id);
    if (result.kind === 'refused') throw await this.#refused(connection, result.error);
    if (result.kind === 'lost') {
      this.#link.discard(connection);
      const written = await this.#lookUp(sent);
      if (written.size > 0) outcomes.found(written);
      this.#reached(sent.id, Math.max(0, ...written.values()));
      return result.error;
    }
    outcomes.answered(result);
    this.learn(result.before);
    this.#reached(sent.id, Math.max(0, ...result.outcomes.map((each) => ('revision' in each ? each.revision : 0))));
    return undefined;
  }

  /**
   * Looks up the outcome of a transaction whose connection was lost. Resolves with the keys that the transaction has
   * written, and their revisions. Operations on other keys were not written, and never will be. Rejects with `unknown`
   * when the look-up fails.
   */
  async #lookUp(sent: SentCommit): Promise<WrittenKeys> {
    try {
      return await this.#transaction((connection) => findCommit(connection, sent));
    } catch (cause) {
      const message = 'the connection was lost during a commit; it is unknown whether the writes are stored';
      throw new StoreError('unknown', message, { cause });
    }
  }

  /** Records a committed transaction. `revision` is its last revision, or 0 when it wrote nothing. */
  #reached(commit: string, revision: number): void {
    if (!this.#known || revision === 0) return;
    this.learn(revision);
    this.#known = { ...this.#known, own: { revision, commit } };
  }

  async #transaction<Result>(
    body: (connection: PostgresConnection) => Promise<Result>,
    isolation?: Isolation,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      const connection = await this.#link.get();
      try {
        return await transaction(connection, () => this.#onKnownSchema(connection, body), isolation);
      } catch (error) {
        if (isServerError(error) || error instanceof StoreError) throw await this.#refused(connection, error);
        this.#link.discard(connection);
        if (attempt === maxAttempts) throw storeErrorFrom(error, 'the connection was lost at every attempt');
      }
    }
  }

  /**
   * Runs `body` with the shared lock on the schema version: waits for a running migration, and makes later migrations
   * wait until the transaction ends.
   */
  async #onKnownSchema<Result>(
    connection: PostgresConnection,
    body: (connection: PostgresConnection) => Promise<Result>,
  ): Promise<Result> {
    checkSchemaRow(await connection.query(sql.shareSchema), connection.name);
    return body(connection);
  }

  /**
   * Returns the error to report for a refused statement: `newer` if it failed because a newer program has changed the
   * tables.
   */
  async #refused(connection: PostgresConnection, error: unknown): Promise<StoreError> {
    const refusal = this.#refusal(connection, error);
    if (refusal.code !== 'refused') return refusal;
    try {
      checkSchemaRow(await connection.query(sql.getSchema), connection.name);
    } catch (cause) {
      if (cause instanceof StoreError && cause.code === 'newer') return cause;
    }
    return refusal;
  }

  #refusal(connection: PostgresConnection, error: unknown): StoreError {
    const refusal = storeErrorFrom(error, 'the database refused to write');
    // After a fail-over, the former primary may continue as a standby. The next connection finds the server that
    // accepts writes.
    if (refusal.code === 'readOnly') this.#link.discard(connection);
    return refusal;
  }
}

/**
 * Returns true when another attempt may succeed. Before the first connection, this is true only for `io`, the error
 * that a starting server can cause. Later, it is true for all errors except the permanent ones: `diverged` and `newer`.
 */
function mayPass({ code }: StoreError, wasConnected: boolean): boolean {
  return wasConnected ? code !== 'diverged' && code !== 'newer' : code === 'io';
}
