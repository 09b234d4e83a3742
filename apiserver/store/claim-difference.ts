import type { Steps } from '../turns/steps.ts';
import { storedClaimValue } from './claim-value.ts';
import type { Claim, StoredClaim } from './store.ts';

export interface ClaimDifference {
  /** The claims to write: those that are not stored, and those that are stored for another object. */
  readonly set: readonly StoredClaim[];
  readonly drop: readonly StoredClaim[];
}

/** The number of claims that are compared in one step, which takes about two milliseconds. */
const comparedPerStep = 2_000;

/**
 * Computes the changes that turn the stored claims of a kind into the wanted ones. `wanted` must not contain a claim
 * twice.
 */
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
  // `drop` lacks a claim that moves to another object: the claim is in `set`, which overwrites its stored row.
  return { set, drop: [...stale.values()] };
}

/** The maximum number of claims in one statement. */
const claimsPerStatement = 5_000;

interface ColumnsOfClaims {
  readonly indexes: readonly number[];
  readonly values: readonly string[];
  readonly keys: readonly string[];
}

/** Yields the parts of a list, each with at most `length` items. Each part is copied only on demand. */
export function* claimPartsOf<T>(items: readonly T[], length: number): Generator<readonly T[], void, undefined> {
  for (let from = 0; from < items.length; from += length) yield items.slice(from, from + length);
}

/**
 * Yields the claims in parts, each as columns for one statement with array parameters. A part has at most
 * {@link claimsPerStatement} claims, and is created only on demand.
 */
export function* columnsOfClaims(claims: readonly StoredClaim[]): Generator<ColumnsOfClaims, void, undefined> {
  for (const part of claimPartsOf(claims, claimsPerStatement)) {
    yield {
      indexes: part.map(({ index }) => index),
      values: part.map(({ value }) => value),
      keys: part.map(({ key }) => key),
    };
  }
}
