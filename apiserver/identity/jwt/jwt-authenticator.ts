import { LruCache } from '@homeostat/controller-runtime/api';
import type { Clock } from '@homeostat/controller-runtime/api';
import type { TokenAuthenticator } from '../token-authenticator.ts';
import type { BearerToken } from '../bearer-token.ts';
import type { UserInfo } from '../user-info.ts';
import { readUnverified } from './sent-token.ts';
import type { SentToken } from './sent-token.ts';

type Found = UserInfo | undefined | Promise<UserInfo | undefined>;

/** A token whose signature and claims have been verified. */
export interface VerifiedToken {
  readonly expiresMs: number;
  /**
   * Returns the user of the token for an audience; undefined when the token is not valid for this audience, or no
   * longer valid, for example because its account was deleted. The caller checks the expiry. An undefined `audience`
   * means this server.
   */
  readonly userFor: (audience: string | undefined) => Found;
}

/** An issuer of tokens: this server, for service accounts, or an external identity provider. */
export interface JwtIssuer {
  /** The claim `iss` in the tokens of this issuer. */
  readonly name: string;
  /** Resolves with undefined for a token that is not valid. Never rejects. */
  verify(token: SentToken): Promise<VerifiedToken | undefined>;
}

const maxVerified = 10_000;

/** The first three characters of a JWT, if the JSON of its header begins with `{"` and a letter. */
const beginning = 'eyJ';

/**
 * Accepts signed tokens (JWT) of known issuers. A verified token is cached by its digest until it expires, so that its
 * signature is usually verified only once. At each use, the issuer can still refuse the token, for example because its
 * account was deleted.
 */
export class JwtAuthenticator implements TokenAuthenticator {
  readonly #clock: Clock;
  #issuers: ReadonlyMap<string, JwtIssuer> = new Map();
  #verified = newCache();

  constructor(clock: Clock, issuers: readonly JwtIssuer[]) {
    this.#clock = clock;
    this.replace(issuers);
  }

  /** Replaces all issuers. The new ones apply from the next request on. */
  replace(issuers: readonly JwtIssuer[]): void {
    this.#issuers = new Map(issuers.map((issuer) => [issuer.name, issuer]));
    this.#verified = newCache();
  }

  ofToken(token: BearerToken): Found {
    return this.ofTokenFor(token);
  }

  ofTokenFor({ text, key }: BearerToken, audience?: string): Found {
    // Most tokens that are not JWTs have another beginning, so they need no lookup.
    if (!text.startsWith(beginning)) return undefined;
    const known = this.#verified.get(key);
    if (known === undefined) return this.#verify(text, { key, audience });
    if (known.expiresMs > this.#clock.now()) return known.userFor(audience);
    this.#verified.delete(key);
    return undefined;
  }

  #verify(text: string, use: { readonly key: string; readonly audience: string | undefined }): Found {
    const sent = readUnverified(text);
    const issuer = this.#issuers.get(sent?.claims.iss ?? '');
    return sent === undefined || issuer === undefined ? undefined : this.#verifyBy(issuer, sent, use);
  }

  async #verifyBy(
    issuer: JwtIssuer,
    sent: SentToken,
    { key, audience }: { readonly key: string; readonly audience: string | undefined },
  ): Promise<UserInfo | undefined> {
    const verified = await issuer.verify(sent);
    if (verified === undefined) return undefined;
    // If the issuer was replaced while the token was verified, the result is not cached: the new issuer may refuse the
    // token.
    if (this.#issuers.get(issuer.name) === issuer) this.#verified.set(key, verified);
    return verified.userFor(audience);
  }
}

function newCache(): LruCache<string, VerifiedToken> {
  return new LruCache({ maxEntries: maxVerified });
}
