import type { Clock } from '@homeostat/controller-runtime/api';
import { jwtVerify, SignJWT } from 'jose';
import type { JWTPayload } from 'jose';
import type { JwtIssuer, VerifiedToken } from '../jwt/jwt-authenticator.ts';
import type { SentToken } from '../jwt/sent-token.ts';
import { authenticated } from '../user-info.ts';
import type { UserInfo } from '../user-info.ts';
import { readClaims, userNameOf, writeClaims } from './account-claims.ts';
import type { AccountClaims } from './account-claims.ts';
import type { Accounts } from './account-lookup.ts';
import type { SigningKeys } from './signing-keys.ts';
import { maxBoundSeconds, maxSeconds } from './token-lifetime.ts';

const algorithm = 'ES256';

export interface AccountIssuerParts {
  /** The claim `iss` of tokens. It is also the audience of tokens for this server. */
  readonly issuer: string;
  readonly keys: SigningKeys;
  readonly accounts: Accounts;
  /** Resolves when memory has all writes that any replica acknowledged before the call. */
  readonly reach: () => Promise<void>;
  readonly clock: Clock;
  readonly uuid: () => string;
}

/** The content and the lifetime of a token. */
export interface TokenOrder extends AccountClaims {
  /** The audiences of the token. If the list is empty, the token is for this server. */
  readonly audiences: readonly string[];
  readonly seconds: number;
}

export interface IssuedToken {
  readonly token: string;
  readonly audiences: readonly string[];
  readonly seconds: number;
  readonly expiresMs: number;
}

/** Signs the tokens of service accounts, and verifies them. */
export class AccountIssuer implements JwtIssuer {
  readonly #parts: AccountIssuerParts;

  constructor(parts: AccountIssuerParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.issuer;
  }

  get keys(): SigningKeys {
    return this.#parts.keys;
  }

  get accounts(): Accounts {
    return this.#parts.accounts;
  }

  /**
   * Signs a token. A requested lifetime that exceeds the maximum is reduced to it. The maximum is longer for a token
   * that is bound to an object.
   */
  async issue({ audiences, seconds, ...whose }: TokenOrder): Promise<IssuedToken> {
    const { issuer, keys, clock, uuid } = this.#parts;
    const { kid, privateKey } = await keys.current();
    const granted = Math.min(seconds, whose.bound === undefined ? maxSeconds : maxBoundSeconds);
    const from = Math.floor(clock.now() / 1000);
    const wanted = audiences.length === 0 ? [issuer] : audiences;
    const token = await new SignJWT(writeClaims(whose))
      .setProtectedHeader({ alg: algorithm, kid })
      .setIssuer(issuer)
      .setAudience([...wanted])
      .setIssuedAt(from)
      .setNotBefore(from)
      .setExpirationTime(from + granted)
      .setJti(uuid())
      .sign(privateKey);
    return { token, audiences: wanted, seconds: granted, expiresMs: (from + granted) * 1000 };
  }

  async verify({ text, alg, kid }: SentToken): Promise<VerifiedToken | undefined> {
    if (alg !== algorithm || kid === undefined) return undefined;
    try {
      const key = await this.#parts.keys.find(kid);
      if (key === undefined) return undefined;
      const { issuer, clock } = this.#parts;
      const rules = { algorithms: [algorithm], issuer, currentDate: new Date(clock.now()) };
      const { payload } = await jwtVerify(text, key.publicKey, rules);
      return this.#verified(payload, kid);
    } catch {
      return undefined;
    }
  }

  #verified(payload: JWTPayload, kid: string): VerifiedToken | undefined {
    const whose = readClaims(payload);
    const { exp, aud = [], jti } = payload;
    if (whose === undefined || exp === undefined) return undefined;
    const expiresMs = exp * 1000;
    const { keys, clock } = this.#parts;
    const isValid = (): boolean => expiresMs > clock.now() && keys.has(kid) && this.#isAlive(whose);
    const user = { ...userOf(whose, jti), isValid };
    const isWanted = (audience: string): boolean => (Array.isArray(aud) ? aud.includes(audience) : aud === audience);
    return {
      expiresMs,
      userFor: (audience = this.name) => {
        if (!isWanted(audience) || !keys.has(kid)) return undefined;
        return this.#isAlive(whose) ? user : this.#laterUser(whose, user);
      },
    };
  }

  /**
   * Looks up the account again, once memory has all acknowledged writes, because another replica may just have stored
   * the account.
   */
  async #laterUser(whose: AccountClaims, user: UserInfo): Promise<UserInfo | undefined> {
    await this.#parts.reach();
    return this.#isAlive(whose) ? user : undefined;
  }

  #isAlive({ account, bound }: AccountClaims): boolean {
    const { accounts } = this.#parts;
    if (accounts.uidOfAccount(account) !== account.uid) return false;
    return bound === undefined || accounts.uidOfObject(bound, account.namespace) === bound.uid;
  }
}

function userOf({ account }: AccountClaims, jti: string | undefined): UserInfo {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`];
  const extra = jti === undefined ? {} : { extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] } };
  return authenticated({ username: userNameOf(account), uid: account.uid, groups, ...extra });
}
