import type { Claim, Operation, RequiredClaim } from './store.ts';

/** Keys start with a slash, claims with a number. */
export function tokensOf({ key, kind, unique }: Operation): readonly string[] {
  if (!unique) return [key];
  const claims = [...unique.add, ...unique.remove].map((claim) => tokenOf(kind, claim));
  return [key, ...new Set(claims)];
}

const requiredTokens = new WeakMap<RequiredClaim, string>();

/** Cached: thousands of creations require the same claim. */
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
