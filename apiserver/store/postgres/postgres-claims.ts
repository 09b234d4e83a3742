import { claimDifference, columnsOfClaims, type StoredClaim } from '../claim-difference.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import * as sql from './postgres-statements.ts';
import type { ClaimsOutcome, KindClaims } from '../store.ts';

type Comparison = Awaited<ReturnType<typeof compare>>;

/** In a transaction of its own, which sees one moment and holds up nobody. */
export async function compareClaims(
  connection: PostgresConnection,
  kind: number,
  wanted: KindClaims,
): Promise<ClaimsOutcome> {
  return outcomeOf(await compare(connection, kind, wanted));
}

/** In a transaction. All of it is under the counter's lock: no commit of the kind is decided meanwhile. */
export async function setClaims(
  connection: PostgresConnection,
  kind: number,
  wanted: KindClaims,
): Promise<ClaimsOutcome> {
  await connection.query(sql.lockCounter);
  const found = await compare(connection, kind, wanted);
  if (found.isBehind || found.isSame) return outcomeOf(found);
  for (const { indexes, values } of columnsOfClaims(found.drop)) {
    await connection.query(sql.dropClaims, [kind, indexes, values]);
  }
  for (const { indexes, values, keys } of columnsOfClaims(found.set)) {
    await connection.query(sql.setClaims, [kind, indexes, values, keys]);
  }
  const generation = found.generation + 1;
  await connection.query(sql.setIndexes, [kind, generation, wanted.indexes.join()]);
  return { generation };
}

function outcomeOf({ isBehind, isSame, generation }: Comparison): ClaimsOutcome {
  if (isBehind) return { refused: 'behind' };
  return isSame ? { generation } : { refused: 'different' };
}

async function compare(connection: PostgresConnection, kind: number, { indexes, claims, revision }: KindClaims) {
  const [history] = await connection.query<{ behind: boolean }>(sql.isBehind, [kind, revision]);
  const [stored] = await connection.query<{ generation: number; indexes: string }>(sql.getIndexes, [kind]);
  const difference = claimDifference(await connection.query<StoredClaim>(sql.listClaims, [kind]), claims);
  const isSame = difference.set.length + difference.drop.length === 0 && (stored?.indexes ?? '') === indexes.join();
  return { ...difference, isSame, isBehind: history?.behind !== false, generation: stored?.generation ?? 0 };
}
