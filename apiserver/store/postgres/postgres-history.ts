import type { PostgresConnection } from './postgres-connection.ts';
import { transaction } from './postgres-session.ts';
import * as sql from './postgres-statements.ts';
import { StoreError } from '../store-error.ts';
import type { WrittenKeys } from './unanswered-commit.ts';

/** How far a store knows the history of its database. */
export interface KnownHistory {
  readonly revision: number;
  readonly epoch: string;
}

/** What there is, and what the transaction of a lost answer has written. */
export interface FoundHistory extends KnownHistory {
  readonly compactRevision: number;
  readonly written: WrittenKeys;
}

/**
 * Looks, with the counter locked, what a database holds beyond what is known: with the lock, no transaction is left that
 * could still commit. All of it has to be of the transaction `commitId`; anything else means that somebody wrote past
 * this store's lock, or that the database was set back, and memory is no longer what is stored: StoreError `diverged`.
 */
export async function findHistory(
  connection: PostgresConnection,
  known: KnownHistory | undefined,
  commitId: string | undefined,
): Promise<FoundHistory> {
  return transaction(connection, async () => {
    const [counter] = await connection.query<{ revision: number }>(sql.lockCounter);
    const revision = counter?.revision ?? 0;
    const epoch = await meta(connection, 'epoch');
    const found = { revision, epoch, compactRevision: Number(await meta(connection, 'compactRevision')) };
    if (!known) return { ...found, written: new Map() };
    const rows = await connection.query<{ revision: number; key: string; commit: string }>(sql.listCommits, [
      known.revision,
    ]);
    const isOurs = rows.every(({ commit }) => commit === commitId);
    if (!isOurs || epoch !== known.epoch || revision !== (rows.at(-1)?.revision ?? known.revision)) {
      const message = `${connection.name} is at revision ${revision}, which this server has not written (it knows ${known.revision}): somebody else wrote to it, or it was set back; restart this server`;
      throw new StoreError('diverged', message);
    }
    return { ...found, written: new Map(rows.map((row) => [row.key, row.revision])) };
  });
}

async function meta(connection: PostgresConnection, name: string): Promise<string> {
  const [row] = await connection.query<{ value: string }>(sql.getMeta, [name]);
  if (!row) throw new StoreError('corrupt', `${connection.name} lacks ${name} in homeostat_meta`);
  return row.value;
}
