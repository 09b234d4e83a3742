import type { Steps } from '../turns/steps.ts';
import { storedClaimValue } from './claim-value.ts';
import type { Claim, StoredClaim } from './store.ts';

export interface ClaimDifference {
  /** To be inserted, or given to another holder. */
  readonly set: readonly StoredClaim[];
  readonly drop: readonly StoredClaim[];
}

/** Claims that are compared in one step: about two milliseconds. */
const comparedPerStep = 2_000;

/** What has to change for the stored claims of a kind to be the wanted ones. Wanted claims are distinct. */
export function* claimDifference(
  stored: readonly StoredClaim[],
  wanted: readonly { readonly claim: Claim; readonly key: string }[],
): Steps<ClaimDifference> {
  const stale = new Map<string, StoredClaim>();
  for (const [at, row] of stored.entries()) {
    if (at % comparedPerStep === 0) yield;
    stale.set(`${row.index} ${row.value}`, row);
  }
  const set: StoredClaim[] = [];
  for (const [at, { claim, key }] of wanted.entries()) {
    if (at % comparedPerStep === 0) yield;
    const row = { index: claim[0], value: storedClaimValue(claim[1]), key };
    const id = `${row.index} ${row.value}`;
    if (stale.get(id)?.key !== key) set.push(row);
    stale.delete(id);
  }
  // Given to another holder is set, and no row is left to drop.
  return { set, drop: [...stale.values()] };
}

/** Claims in one statement. */
const claimsPerStatement = 5_000;

interface ColumnsOfClaims {
  readonly indexes: readonly number[];
  readonly values: readonly string[];
  readonly keys: readonly string[];
}

/** Parts of bounded length, each made when it is asked for. */
export function* partsOf<T>(items: readonly T[], length: number): Generator<readonly T[], void, undefined> {
  for (let from = 0; from < items.length; from += length) yield items.slice(from, from + length);
}

/** For statements that take arrays: a few that are bounded, however many claims there are. Each is made when it is asked for. */
export function* columnsOfClaims(claims: readonly StoredClaim[]): Generator<ColumnsOfClaims, void, undefined> {
  for (const part of partsOf(claims, claimsPerStatement)) {
    yield {
      indexes: part.map(({ index }) => index),
      values: part.map(({ value }) => value),
      keys: part.map(({ key }) => key),
    };
  }
}
