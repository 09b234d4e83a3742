import type { Clock } from '@homeostat/controller-runtime/api';
import { importJWK, jwtVerify } from 'jose';
import type { JWK, JWTPayload } from 'jose';
import type { JwtIssuer, VerifiedToken } from '../jwt/jwt-authenticator.ts';
import { readUnverified } from '../jwt/sent-token.ts';
import type { SentToken } from '../jwt/sent-token.ts';
import { authenticated, isVisibleName } from '../user-info.ts';
import type { UserInfo } from '../user-info.ts';
import type { ClaimMapping, IssuerConfig } from './authentication-config.ts';
import type { IssuerKeys } from './issuer-keys.ts';

/** The algorithms that Kubernetes accepts. All of them sign with a key pair. */
const algorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];

/** The number of seconds by which the clock of an issuer may be ahead. For the expiry, no difference is allowed. */
const skewSeconds = 10;

/**
 * The prefix of names that external issuers may not assign. Otherwise, an issuer could make a user a member of
 * `system:masters`.
 */
const reserved = 'system:';

const maxGroups = 1000;

export interface OidcIssuerParts {
  readonly config: IssuerConfig;
  readonly keys: IssuerKeys;
  readonly clock: Clock;
}

/** Verifies the tokens of an external issuer, and finds their users. */
export class OidcIssuer implements JwtIssuer {
  readonly #parts: OidcIssuerParts;

  constructor(parts: OidcIssuerParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.config.url;
  }

  async verify(sent: SentToken): Promise<VerifiedToken | undefined> {
    const { config, keys, clock } = this.#parts;
    // A token with another audience is refused here, before its key is looked up.
    if (!algorithms.includes(sent.alg) || !isFor(sent.claims, config.audiences)) return undefined;
    const jwk = await keys.find(sent.kid);
    if (jwk === undefined) return undefined;
    const payload = await this.#payloadOf(sent, jwk, config.audiences);
    const found = payload === undefined ? undefined : userOf(payload, config);
    if (payload?.exp === undefined || found === undefined) return undefined;
    const expiresMs = payload.exp * 1000;
    const isKnown = (): boolean => keys.known(sent.kid) === jwk;
    const user = { ...found, isValid: () => expiresMs > clock.now() && isKnown() };
    return {
      expiresMs,
      // Returns no user for a defined `audience`, which names another service: other services verify the tokens of
      // this issuer themselves. Returns no user either when the issuer has withdrawn the token's key.
      userFor: (audience) => (audience === undefined && isKnown() ? user : undefined),
    };
  }

  /**
   * Resolves with the user of an ID token that the issuer has just sent to this server; undefined when the token is not
   * valid, or its claims result in no user.
   */
  async userOfIdToken(text: string, clientId: string): Promise<UserInfo | undefined> {
    const { config, keys } = this.#parts;
    const sent = readUnverified(text);
    if (sent === undefined || !algorithms.includes(sent.alg)) return undefined;
    const jwk = await keys.findNow(sent.kid);
    const payload = jwk === undefined ? undefined : await this.#payloadOf(sent, jwk, [clientId]);
    return payload === undefined ? undefined : userOf(payload, config);
  }

  async #payloadOf({ text, alg }: SentToken, jwk: JWK, audiences: readonly string[]): Promise<JWTPayload | undefined> {
    const { config, clock } = this.#parts;
    const nowMs = clock.now();
    if (jwk.alg !== undefined && jwk.alg !== alg) return undefined;
    try {
      const { payload } = await jwtVerify(text, await importJWK(jwk, alg), {
        algorithms: [alg],
        issuer: config.url,
        audience: [...audiences],
        requiredClaims: ['exp'],
        clockTolerance: skewSeconds,
        currentDate: new Date(nowMs),
      });
      return (payload.exp ?? 0) * 1000 > nowMs ? payload : undefined;
    } catch {
      return undefined;
    }
  }
}

function isFor({ aud = [] }: JWTPayload, audiences: readonly string[]): boolean {
  const named = Array.isArray(aud) ? aud : [aud];
  return named.some((audience) => audiences.includes(audience));
}

/**
 * Returns the user that the claims describe. Returns undefined when a claim does not have the value that the
 * configuration requires, or when the name, the groups or the uid in the claims is not valid.
 */
function userOf(payload: JWTPayload, config: IssuerConfig): UserInfo | undefined {
  if (!config.required.every(({ claim, value }) => claimOf(payload, claim) === value)) return undefined;
  const username = usernameOf(payload, config.username);
  const groups = groupsOf(payload, config.groups);
  const uid = config.uid === undefined ? undefined : claimOf(payload, config.uid);
  if (username === undefined || groups === undefined || (uid !== undefined && typeof uid !== 'string'))
    return undefined;
  const extra =
    typeof payload.jti === 'string'
      ? { 'authentication.kubernetes.io/credential-id': [`JTI=${payload.jti}`] }
      : undefined;
  return authenticated({
    username,
    groups,
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  });
}

function usernameOf(payload: JWTPayload, { claim, prefix }: ClaimMapping): string | undefined {
  const name = claimOf(payload, claim);
  if (typeof name !== 'string' || name === '') return undefined;
  // As in Kubernetes, an email address that is not verified cannot be the name of a user.
  if (claim === 'email' && (claimOf(payload, 'email_verified') ?? true) !== true) return undefined;
  const username = prefix + name;
  return username.startsWith(reserved) || !isVisibleName(username) ? undefined : username;
}

function groupsOf(payload: JWTPayload, mapping: ClaimMapping | undefined): readonly string[] | undefined {
  if (mapping === undefined) return [];
  const value = claimOf(payload, mapping.claim) ?? [];
  const names: unknown = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(names) || names.length > maxGroups || !names.every((name) => typeof name === 'string'))
    return undefined;
  const groups = names.map((name: string) => mapping.prefix + name).filter((name) => name !== '');
  return groups.every(isVisibleName) ? groups.filter((name) => !name.startsWith(reserved)) : undefined;
}

function claimOf(payload: JWTPayload, claim: string): unknown {
  return Object.hasOwn(payload, claim) ? payload[claim] : undefined;
}
