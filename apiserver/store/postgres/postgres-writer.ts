import type { Clock } from '@homeostat/controller-runtime/api';

import { claimDifference, columnsOfClaims } from '../claim-difference.ts';
import { type BatchResult, sendBatch } from './postgres-batch.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { isServerError, storeErrorFrom } from './postgres-errors.ts';
import { findHistory, type KnownHistory } from './postgres-history.ts';
import { PostgresLink } from './postgres-link.ts';
import { openWritingSession, type SessionIdentity, transaction } from './postgres-session.ts';
import * as sql from './postgres-statements.ts';
import { SerialQueue } from '../serial-queue.ts';
import { StoreError } from '../store-error.ts';
import type { KindClaims, OpenedStore, Operation, Outcome, StoredClaim } from '../store.ts';
import { BatchOutcomes, UnansweredCommit } from './unanswered-commit.ts';

/** Times that a transaction whose connection is lost is sent, in all. */
const maxAttempts = 3;

export interface WriterOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly uuid: () => string;
  /** Told of a new session: what is connected since before may be connected to a server of the past. */
  readonly onNewSession: () => void;
}

/** The writing side of a database: one transaction after the other, on the session that has the store's lock. */
export class PostgresWriter {
  readonly #options: WriterOptions;
  readonly #queue = new SerialQueue();
  readonly #link: PostgresLink;
  #session: SessionIdentity | undefined;
  #known: KnownHistory | undefined;
  #compactRevision = 0;
  #unanswered: UnansweredCommit | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#link = new PostgresLink({
      clock: options.clock,
      connect: () => this.#connect(),
      mayPass: (error) => this.#mayPass(error),
    });
  }

  async open(): Promise<OpenedStore> {
    await this.#link.get();
    const { revision = 0, epoch = '' } = this.#known ?? {};
    return { revision, compactRevision: this.#compactRevision, epoch };
  }

  /** Of the last commit. */
  get revision(): number {
    return this.#known?.revision ?? 0;
  }

  commit(batch: readonly Operation[]): Promise<readonly Outcome[]> {
    return this.#queue.run(() => this.#commit(batch));
  }

  /** Answers how many changes went. */
  compact(upTo: number, maxRows: number): Promise<number> {
    return this.#transaction(async (connection) => {
      const [present] = await connection.query<{ revision: number }>(sql.getCounter);
      const [before] = await connection.query<{ revision: number }>(sql.getCompactRevision);
      const bound = Math.min(upTo, present?.revision ?? 0);
      if (maxRows < 1 || bound <= (before?.revision ?? 0)) return 0;
      const [last] = await connection.query<{ revision: number }>(sql.compactBound, [bound, maxRows - 1]);
      const compactRevision = last?.revision ?? bound;
      const [gone] = await connection.query<{ count: number }>(sql.deleteChanges, [compactRevision]);
      await connection.query(sql.setMeta, ['compactRevision', compactRevision]);
      return gone?.count ?? 0;
    });
  }

  numberOf(name: string): Promise<number> {
    return this.#transaction(async (connection) => {
      await connection.query(sql.lockCounter);
      const [found] = await connection.query<{ id: number }>(sql.getNumber, [name]);
      const [row] = found ? [found] : await connection.query<{ id: number }>(sql.addNumber, [name]);
      return row?.id ?? 0;
    });
  }

  /** Answers how many claims differed. */
  replaceClaims(kind: number, claims: KindClaims['claims']): Promise<number> {
    return this.#transaction(async (connection) => {
      await connection.query(sql.lockCounter);
      const { set, drop } = claimDifference(await connection.query<StoredClaim>(sql.listClaims, [kind]), claims);
      for (const { indexes, values } of columnsOfClaims(drop))
        await connection.query(sql.dropClaims, [kind, indexes, values]);
      for (const { indexes, values, keys } of columnsOfClaims(set)) {
        await connection.query(sql.setClaims, [kind, indexes, values, keys]);
      }
      return set.length + drop.length;
    });
  }

  /** After all that was asked before. */
  async close(): Promise<void> {
    await this.#queue.drained();
    this.#unanswered?.reject(new StoreError('closed', 'the store is closed'));
    await this.#link.close();
  }

  async #connect(): Promise<PostgresConnection> {
    const { connection, identity } = await openWritingSession(this.#options.url, this.#session);
    try {
      const found = await findHistory(connection, this.#known, this.#unanswered?.id);
      if (this.#known) this.#options.onNewSession();
      this.#session = identity;
      this.#known = { revision: found.revision, epoch: found.epoch };
      this.#compactRevision = found.compactRevision;
      this.#unanswered?.resolve(found.written);
      this.#unanswered = undefined;
      return connection;
    } catch (error) {
      connection.destroy();
      throw storeErrorFrom(error, connection.name);
    }
  }

  /** At the start only what a server that is starting, too, would fail with; later all but what waiting cannot change. */
  #mayPass(error: StoreError): boolean {
    const { code } = error;
    const mayPass = this.#known ? code !== 'diverged' && code !== 'newer' : code === 'io';
    if (!mayPass) this.#unanswered?.reject(error);
    return mayPass;
  }

  /**
   * Sends what is not known to be written, until all is answered. A lost answer is looked up when the next session opens,
   * so that nothing is written twice, and nothing is reported that is not so.
   */
  async #commit(batch: readonly Operation[]): Promise<readonly Outcome[]> {
    const outcomes = new BatchOutcomes(batch);
    let lost: unknown;
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const result = await this.#send(outcomes);
      if (result.kind === 'refused') throw partial(outcomes, result.error);
      if (result.kind === 'lost') lost = result.error;
      if (outcomes.all) return outcomes.all;
    }
    throw partial(outcomes, storeErrorFrom(lost, 'the connection was lost at every attempt to commit'));
  }

  /** One transaction of what is left; when its answer is lost, what a look finds of it. */
  async #send(outcomes: BatchOutcomes): Promise<BatchResult> {
    let connection: PostgresConnection;
    try {
      connection = await this.#link.get();
    } catch (error) {
      return { kind: 'refused', error };
    }
    const unanswered = new UnansweredCommit(this.#options.uuid());
    this.#unanswered = unanswered;
    const result = await sendBatch(connection, outcomes.rest, unanswered.id);
    if (result.kind === 'lost') {
      this.#link.discard(connection);
      await this.#lookUp(unanswered, outcomes);
      return result;
    }
    this.#unanswered = undefined;
    if (result.kind === 'refused') return { kind: 'refused', error: this.#refused(connection, result.error) };
    outcomes.answered(result.outcomes);
    this.#reached(result.outcomes);
    return result;
  }

  /** What is not found was not written, and never will be. Rejects with `unknown` when nobody answers. */
  async #lookUp({ written }: UnansweredCommit, outcomes: BatchOutcomes): Promise<void> {
    try {
      // The next session looks before it is handed out.
      await this.#link.get();
    } catch (cause) {
      const settled = written.then((found) => {
        outcomes.found(found);
        return outcomes.revisions;
      });
      const message = 'the connection was lost during a commit, and it cannot be learned whether it was written';
      throw new StoreError('unknown', message, { cause, settled });
    }
    outcomes.found(await written);
  }

  #reached(outcomes: readonly Outcome[]): void {
    const { revision = 0, epoch = '' } = this.#known ?? {};
    const last = outcomes.findLast((outcome) => 'revision' in outcome);
    this.#known = { revision: last && 'revision' in last ? last.revision : revision, epoch };
  }

  #transaction<Result>(body: (connection: PostgresConnection) => Promise<Result>): Promise<Result> {
    return this.#queue.run(async () => {
      for (let attempt = 1; ; attempt += 1) {
        const connection = await this.#link.get();
        try {
          return await transaction(connection, () => body(connection));
        } catch (error) {
          if (isServerError(error) || error instanceof StoreError) throw this.#refused(connection, error);
          this.#link.discard(connection);
          if (attempt === maxAttempts) throw storeErrorFrom(error, 'the connection was lost at every attempt');
        }
      }
    });
  }

  #refused(connection: PostgresConnection, error: unknown): StoreError {
    const refusal = storeErrorFrom(error, 'the database refused to write');
    // After a fail-over the server of before may live on as a standby: the next connection finds the one that writes.
    if (refusal.code === 'readOnly') this.#link.discard(connection);
    return refusal;
  }
}

/** The error of a batch; when an earlier transaction has written a part of it, with what is written. */
function partial(outcomes: BatchOutcomes, cause: unknown): unknown {
  if (outcomes.isEmpty) return cause;
  return new StoreError('unknown', 'the connection was lost during a commit, of which a part was written', {
    cause,
    settled: Promise.resolve(outcomes.revisions),
  });
}
