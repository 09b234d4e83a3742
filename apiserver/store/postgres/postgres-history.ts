import type { PostgresConnection } from './postgres-connection.ts';
import * as sql from './postgres-statements.ts';
import { StoreError } from '../store-error.ts';
import type { OpenedStore } from '../store.ts';

/** A transaction that writes a batch: its id, and a revision that was committed before the transaction was sent. */
export interface SentCommit {
  readonly id: string;
  readonly after: number;
}

/**
 * The epoch and the revisions that this store has read from a database or written to it. {@link findHistory} checks
 * that the database still has them.
 */
export interface KnownCommits {
  readonly epoch: string;
  /** The highest revision that this store knows to be committed, by any store. */
  readonly revision: number;
  /** The last revision that this store has written, and the transaction that wrote it. */
  readonly own?: { readonly revision: number; readonly commit: string };
}

/** The keys that a transaction has written, with their revisions. */
export type WrittenKeys = ReadonlyMap<string, number>;

/**
 * Checks, in a transaction, that the history of the database still contains the part that this process knows; other
 * stores may have added changes. Rejects with StoreError `diverged` when the database has another history: the state in
 * the memory of this process then differs from the database.
 */
export async function findHistory(
  connection: PostgresConnection,
  known: KnownCommits | undefined,
): Promise<OpenedStore> {
  await connection.execute(sql.waitLonger);
  // On a standby, taking this lock fails, so the histories are not compared: a standby may lag behind, and its older
  // history must not count as a divergence.
  await connection.query(sql.lockCounter);
  const [row] = await connection.query<OpenedStore & { commit: string | null }>(sql.findHistory, [
    known?.own?.revision ?? null,
  ]);
  if (!row || row.compactRevision === null || row.epoch === null) {
    throw new StoreError('corrupt', `${connection.name} lacks its revision, compactRevision or epoch`);
  }
  const { commit, ...found } = row;
  const change = known && differenceOf(known, row);
  if (change === undefined) return found;
  const message = `${connection.name} ${change}: it was restored or replaced; restart this server`;
  throw new StoreError('diverged', message);
}

function differenceOf(
  { epoch, revision, own }: KnownCommits,
  found: OpenedStore & { readonly commit: string | null },
): string | undefined {
  if (found.epoch !== epoch) return `has another history (epoch ${found.epoch}, not ${epoch})`;
  if (found.revision < revision) return `is at revision ${found.revision}, although it was at ${revision} before`;
  if (own && found.compactRevision < own.revision && found.commit !== own.commit) {
    return `lacks the write of this server at revision ${own.revision}`;
  }
  return undefined;
}

/**
 * Returns the writes of a transaction whose connection was lost, and whose session has ended. Runs in another
 * transaction. Rejects with StoreError `unknown` when the log of those writes is compacted.
 */
export async function findCommit(connection: PostgresConnection, { id, after }: SentCommit): Promise<WrittenKeys> {
  await connection.execute(sql.waitLonger);
  await connection.query(sql.lockCounter);
  const rows = await connection.query<{ compacted: number; key: string; revision: number | null }>(sql.findCommit, [
    after,
    id,
  ]);
  const compacted = rows.at(0)?.compacted ?? 0;
  if (compacted > after) throw new StoreError('unknown', `changes up to revision ${compacted} are compacted`);
  return new Map(rows.flatMap(({ key, revision }) => (revision === null ? [] : [[key, revision]])));
}

/**
 * Starts the history of an empty database at a revision. Runs in a transaction. Rejects with StoreError `refused` when
 * the database has objects.
 */
export async function startHistory(connection: PostgresConnection, revision: number): Promise<OpenedStore> {
  await connection.query(sql.lockCounter);
  // This row is locked before the changes are deleted, because a compaction takes the locks in the same order.
  await connection.query(sql.getCompactRevision);
  const [objects] = await connection.query<{ empty: boolean }>(sql.hasNoObjects);
  if (objects?.empty !== true) throw new StoreError('refused', `${connection.name} has objects already`);
  await connection.query(sql.deleteChanges, [Number.MAX_SAFE_INTEGER]);
  await connection.query(sql.setCounter, [revision]);
  await connection.query(sql.setMeta, ['compactRevision', String(revision)]);
  await connection.query(sql.setEpoch);
  return findHistory(connection, undefined);
}

/** Drops the changes up to a revision, at most `maxRows`, and returns their number. Runs in a transaction. */
export async function compact(
  connection: PostgresConnection,
  { upTo, maxRows }: { readonly upTo: number; readonly maxRows: number },
): Promise<number> {
  const [before] = await connection.query<{ revision: number }>(sql.getCompactRevision);
  const [present] = await connection.query<{ revision: number }>(sql.getCounter);
  const bound = Math.min(upTo, present?.revision ?? 0);
  if (maxRows < 1 || bound <= (before?.revision ?? 0)) return 0;
  const [last] = await connection.query<{ revision: number }>(sql.compactBound, [bound, maxRows - 1]);
  const compactRevision = last?.revision ?? bound;
  const [gone] = await connection.query<{ count: number }>(sql.deleteChanges, [compactRevision]);
  await connection.query(sql.setMeta, ['compactRevision', String(compactRevision)]);
  return gone?.count ?? 0;
}
