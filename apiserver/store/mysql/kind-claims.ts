import type { ResultRow } from './mysql-connection.ts';
import type { StoredClaim, StoredClaims } from '../store.ts';

/** Of `idx, value, object_key`. */
export function storedClaimOf([index, value, key]: ResultRow): StoredClaim {
  return { index: Number(index), value: String(value), key: String(key) };
}

/** Of the rows of `listKindClaims`: at least one, if one without a claim. */
export function storedClaims(rows: readonly ResultRow[]): StoredClaims {
  const [revision, generation, found] = rows[0] ?? [];
  const indexes = String(found ?? '');
  const claims = rows.map((row) => row.slice(3)).filter(([index]) => index !== null);
  return {
    revision: Number(revision),
    generation: Number(generation ?? 0),
    indexes: indexes === '' ? [] : indexes.split(',').map(Number),
    claims: claims.map(storedClaimOf),
  };
}
