import type { ResultRow } from './mysql-connection.ts';
import type { Steps } from '../../turns/steps.ts';
import type { StoredClaim, StoredClaims, StoredIndexes } from '../store.ts';

/** The claim in a row of `idx, value, object_key`. */
export function storedClaimOf([index, value, key]: ResultRow): StoredClaim {
  return { index: Number(index), value: String(value), key: String(key) };
}

/** The number of rows read in one step, which takes about a millisecond. */
const rowsPerStep = 2_000;

/** The claims in the rows of `claimsOfKind`, or of `listKindClaims` after its first columns. */
export function* storedClaimSteps(rows: readonly ResultRow[], firstColumn = 0): Steps<StoredClaim[]> {
  const claims: StoredClaim[] = [];
  for (const [at, row] of rows.entries()) {
    if (row[firstColumn] !== null) claims.push(storedClaimOf(firstColumn === 0 ? row : row.slice(firstColumn)));
    if (at % rowsPerStep === rowsPerStep - 1) yield;
  }
  return claims;
}

/**
 * Returns the claims in the rows of `listKindClaims`. It has at least one row; without claims, the only row has nulls.
 */
export function* storedClaims(rows: readonly ResultRow[]): Steps<StoredClaims> {
  const [revision, ...indexes] = rows[0] ?? [];
  return { revision: Number(revision), ...storedIndexes(indexes), claims: yield* storedClaimSteps(rows, 3) };
}

/** The unique indexes in a row of `getIndexes`; there is none until they are first set. */
export function storedIndexes([generation, found]: ResultRow = []): StoredIndexes {
  const indexes = String(found ?? '');
  return { generation: Number(generation ?? 0), indexes: indexes === '' ? [] : indexes.split(',').map(Number) };
}
