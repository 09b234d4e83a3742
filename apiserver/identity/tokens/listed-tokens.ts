import { hash, timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { TokenAuthenticator } from '../authenticator.ts';
import type { UserInfo } from '../user-info.ts';
import type { TokenOwner } from './token-file.ts';

/**
 * Accepts the tokens of a list. Only digests are compared, each candidate in constant time; the response time depends
 * only on the first 16 bits of the digest, which reveal nothing about the token.
 */
export class ListedTokens implements TokenAuthenticator {
  #owners: ReadonlyMap<number, readonly TokenOwner[]>;

  constructor(owners: readonly TokenOwner[]) {
    this.#owners = byPrefix(owners);
  }

  /** Uses another list, from the next request on. */
  replace(owners: readonly TokenOwner[]): void {
    this.#owners = byPrefix(owners);
  }

  ofToken(token: string): UserInfo | undefined {
    if (this.#owners.size === 0) return undefined;
    const digest = hash('sha256', token, 'buffer');
    const user = this.#find(digest);
    if (user === undefined) return undefined;
    // A later list has other objects for the owners, which are equal if the entry has not changed.
    return { ...user, isValid: () => isDeepStrictEqual(this.#find(digest), user) };
  }

  #find(digest: Buffer): UserInfo | undefined {
    let found: UserInfo | undefined;
    for (const owner of this.#owners.get(digest.readUInt16BE(0)) ?? []) {
      if (timingSafeEqual(owner.digest, digest)) found = owner.user;
    }
    return found;
  }
}

function byPrefix(owners: readonly TokenOwner[]): ReadonlyMap<number, readonly TokenOwner[]> {
  const map = new Map<number, TokenOwner[]>();
  for (const owner of owners) {
    const prefix = owner.digest.readUInt16BE(0);
    map.set(prefix, [...(map.get(prefix) ?? []), owner]);
  }
  return map;
}
