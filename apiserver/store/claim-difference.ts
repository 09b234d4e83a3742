import type { Steps } from '../turns/steps.ts';
import { storedClaimValue } from './claim-value.ts';
import type { Claim, StoredClaim } from './store.ts';

export interface ClaimDifference {
  /** Claims to insert, or to give to another holder. */
  readonly set: readonly StoredClaim[];
  readonly drop: readonly StoredClaim[];
}

/** Claims compared in one step: about two milliseconds. */
const comparedPerStep = 2_000;

/** The changes that turn the stored claims of a kind into the wanted ones. Wanted claims are distinct. */
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
  // A claim that goes to another holder is in `set`, which overwrites its row. So its row need not be dropped.
  return { set, drop: [...stale.values()] };
}

/** The maximum number of claims in one statement. */
const claimsPerStatement = 5_000;

interface ColumnsOfClaims {
  readonly indexes: readonly number[];
  readonly values: readonly string[];
  readonly keys: readonly string[];
}

/** Parts of bounded length; each is made on demand. */
export function* claimPartsOf<T>(items: readonly T[], length: number): Generator<readonly T[], void, undefined> {
  for (let from = 0; from < items.length; from += length) yield items.slice(from, from + length);
}

/** Columns for statements that take arrays: each is bounded, however many claims there are, and is made on demand. */
export function* columnsOfClaims(claims: readonly StoredClaim[]): Generator<ColumnsOfClaims, void, undefined> {
  for (const part of claimPartsOf(claims, claimsPerStatement)) {
    yield {
      indexes: part.map(({ index }) => index),
      values: part.map(({ value }) => value),
      keys: part.map(({ key }) => key),
    };
  }
}
