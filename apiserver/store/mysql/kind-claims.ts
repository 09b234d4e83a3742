import type { ResultRow } from './mysql-connection.ts';
import type { Steps } from '../../turns/steps.ts';
import type { StoredClaim, StoredClaims, StoredIndexes } from '../store.ts';

/** Returns the claim in a row with the columns `idx, value, object_key`. */
export function storedClaimOf([index, value, key]: ResultRow): StoredClaim {
  return { index: Number(index), value: String(value), key: String(key) };
}

/** The number of rows that one step reads. A step takes about a millisecond. */
const rowsPerStep = 2_000;

/**
 * Returns the claims in the rows of `claimsOfKind`; or in the rows of `listKindClaims`, whose claims begin at the
 * column `firstColumn`.
 */
export function* storedClaimSteps(rows: readonly ResultRow[], firstColumn = 0): Steps<StoredClaim[]> {
  const claims: StoredClaim[] = [];
  for (const [at, row] of rows.entries()) {
    if (row[firstColumn] !== null) claims.push(storedClaimOf(firstColumn === 0 ? row : row.slice(firstColumn)));
    if (at % rowsPerStep === rowsPerStep - 1) yield;
  }
  return claims;
}

/**
 * Returns the revision, the unique indexes and the claims from the rows of `listKindClaims`. There is at least one row;
 * if the kind has no claims, this row has nulls in the columns of the claim.
 */
export function* storedClaims(rows: readonly ResultRow[]): Steps<StoredClaims> {
  const [revision, ...indexes] = rows[0] ?? [];
  return { revision: Number(revision), ...storedIndexes(indexes), claims: yield* storedClaimSteps(rows, 3) };
}

/** Returns the unique indexes in a row of `getIndexes`. There is no row before the indexes are first set. */
export function storedIndexes([generation, found]: ResultRow = []): StoredIndexes {
  const indexes = String(found ?? '');
  return { generation: Number(generation ?? 0), indexes: indexes === '' ? [] : indexes.split(',').map(Number) };
}
