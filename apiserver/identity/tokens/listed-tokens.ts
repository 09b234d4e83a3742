import { timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { TokenAuthenticator } from '../token-authenticator.ts';
import type { BearerToken } from '../bearer-token.ts';
import type { UserInfo } from '../user-info.ts';
import type { TokenOwner } from './token-file.ts';

/** A user whose token is in the list. */
interface Listed {
  readonly owner: TokenOwner;
  /** The user. All requests with this token get the same object. */
  readonly user: UserInfo;
}

/**
 * Accepts the tokens of a list. It compares only digests, and each comparison takes constant time. The total time
 * depends only on the first 16 bits of the digest, which do not reveal the token.
 */
export class ListedTokens implements TokenAuthenticator {
  #listed: ReadonlyMap<number, readonly Listed[]>;
  /**
   * The users of the tokens that were found in this list. While a connection sends the same header, all its requests
   * share one `BearerToken`, so the list is searched only once for them.
   */
  #found = new WeakMap<BearerToken, UserInfo>();

  constructor(owners: readonly TokenOwner[]) {
    this.#listed = this.#byPrefix(owners);
  }

  /** Replaces the list. The new one applies from the next request on. */
  replace(owners: readonly TokenOwner[]): void {
    this.#listed = this.#byPrefix(owners);
    this.#found = new WeakMap();
  }

  ofToken(token: BearerToken): UserInfo | undefined {
    let user = this.#found.get(token);
    if (user === undefined) {
      user = this.#find(token.digest)?.user;
      if (user !== undefined) this.#found.set(token, user);
    }
    return user;
  }

  #find(digest: Buffer): Listed | undefined {
    let found: Listed | undefined;
    for (const listed of this.#listed.get(digest.readUInt16BE(0)) ?? []) {
      if (timingSafeEqual(listed.owner.digest, digest)) found = listed;
    }
    return found;
  }

  #byPrefix(owners: readonly TokenOwner[]): ReadonlyMap<number, readonly Listed[]> {
    const map = new Map<number, Listed[]>();
    for (const owner of owners) {
      const { digest, user } = owner;
      // Users are compared by their content, because a later list has new objects for them.
      const isValid = (): boolean => isDeepStrictEqual(this.#find(digest)?.owner.user, user);
      const prefix = digest.readUInt16BE(0);
      map.set(prefix, [...(map.get(prefix) ?? []), { owner, user: { ...user, isValid } }]);
    }
    return map;
  }
}
