import type { Claim, Operation, RequiredClaim } from './store.ts';

/**
 * Returns the tokens of an operation: texts for its key, which starts with a slash, and for its changed claims, which
 * start with a number. Operations with a common token must not be in one batch.
 */
export function tokensOf({ key, kind, unique }: Operation): readonly string[] {
  if (!unique) return [key];
  const claims = [...unique.add, ...unique.remove].map((claim) => tokenOf(kind, claim));
  return [key, ...new Set(claims)];
}

const requiredTokens = new WeakMap<RequiredClaim, string>();

/**
 * Returns the token of a required claim: the text that {@link tokensOf} returns for a change of the same claim. The
 * token is cached, because thousands of creations require the same claim.
 */
export function requiredTokenOf(required: RequiredClaim): string {
  const known = requiredTokens.get(required);
  if (known !== undefined) return known;
  const token = tokenOf(required.kind, required.claim);
  requiredTokens.set(required, token);
  return token;
}

function tokenOf(kind: number, [index, value]: Claim): string {
  return `${kind}/${index}/${value}`;
}
