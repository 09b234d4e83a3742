import { runInTurns } from '../../turns/steps.ts';
import type { Steps } from '../../turns/steps.ts';
import { claimDifference, columnsOfClaims } from '../claim-difference.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import * as sql from './postgres-statements.ts';
import type { ClaimsOutcome, KindClaims, StoredClaim, StoredClaims, StoredIndexes } from '../store.ts';

interface ClaimRow {
  readonly revision: number;
  readonly generation: number | null;
  readonly indexes: string | null;
  readonly index: number | null;
  readonly value: string;
  readonly key: string;
}

/** The number of rows that one step reads. A step takes about a millisecond. */
const rowsPerStep = 2_000;

/**
 * Returns the revision, the unique indexes and the claims from the rows of `listKindClaims`. There is at least one row;
 * if the kind has no claims, this row has nulls in the columns of the claim.
 */
export function* storedClaims(rows: readonly ClaimRow[]): Steps<StoredClaims> {
  const [first] = rows;
  const claims: StoredClaim[] = [];
  for (const [at, { index, value, key }] of rows.entries()) {
    if (index !== null) claims.push({ index, value, key });
    if (at % rowsPerStep === rowsPerStep - 1) yield;
  }
  return { revision: first?.revision ?? 0, ...storedIndexes(first), claims };
}

/**
 * Returns the unique indexes of a kind and their generation, from a row of `getIndexes` or `listKindClaims`. Without a
 * row, or before the indexes are first set, there are no indexes, and the generation is 0.
 */
export function storedIndexes(row: Pick<ClaimRow, 'generation' | 'indexes'> | undefined): StoredIndexes {
  return { generation: row?.generation ?? 0, indexes: numbersOf(row?.indexes ?? '') };
}

export type { ClaimRow };

/**
 * Sets the unique indexes and the claims of a kind. The caller has begun a transaction, in which this function locks
 * the counter of revisions. No other transaction can write objects until this one ends.
 */
export async function setClaims(
  connection: PostgresConnection,
  kind: number,
  { indexes, claims, revision }: KindClaims,
): Promise<ClaimsOutcome> {
  await connection.query(sql.lockCounter);
  const [history] = await connection.query<{ behind: boolean }>(sql.isBehind, [kind, revision]);
  const [stored] = await connection.query<{ generation: number; indexes: string }>(sql.getIndexes, [kind]);
  const generation = (stored?.generation ?? 0) + 1;
  const wanted = indexes.join();
  if (history?.behind !== false) {
    await connection.query(sql.setIndexes, [kind, generation, wanted]);
    return { refused: 'behind' };
  }
  const known = await connection.query<StoredClaim>(sql.listClaims, [kind]);
  const { set, drop } = await runInTurns(claimDifference(known, claims));
  if (set.length + drop.length === 0 && (stored?.indexes ?? '') === wanted) return { generation: generation - 1 };
  for (const { indexes: of, values } of columnsOfClaims(drop)) {
    await connection.query(sql.dropClaims, [kind, of, values]);
  }
  for (const { indexes: of, values, keys } of columnsOfClaims(set)) {
    await connection.query(sql.setClaims, [kind, of, values, keys]);
  }
  await connection.query(sql.setIndexes, [kind, generation, wanted]);
  return { generation };
}

function numbersOf(indexes: string): number[] {
  return indexes === '' ? [] : indexes.split(',').map(Number);
}
