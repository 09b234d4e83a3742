import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import type { JWK } from 'jose';
import type { IssuerConfig } from './authentication-config.ts';
import { fetchJson } from './https-request.ts';

/**
 * The interval at which keys are fetched. A key that the issuer has withdrawn is refused after at most this time, if
 * the issuer can be reached.
 */
const refreshMs = 5 * 60_000;

/**
 * The minimum time between a fetch and the next one for an unknown key id, so that tokens with invented ids cause
 * little load on the issuer.
 */
const pauseMs = 10_000;

const maxKeys = 1000;

export interface IssuerKeysParts {
  readonly config: IssuerConfig;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The discovery document of an issuer (OpenID Connect Discovery 1.0, 3). Its `issuer` and `jwks_uri` have been checked.
 */
export type IssuerMetadata = Readonly<Record<string, unknown>> & { readonly issuer: string };

/**
 * The discovery document and the public keys of an external issuer. They are fetched every 5 minutes, and when a token
 * names an unknown key, but then at most every 10 s. Known keys remain in use while the issuer cannot be reached.
 */
export class IssuerKeys {
  readonly #parts: IssuerKeysParts;
  readonly #ended = new AbortController();
  #keys: ReadonlyMap<string, JWK> = new Map();
  #metadata: IssuerMetadata | undefined;
  #fetching: Promise<void> | undefined;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(parts: IssuerKeysParts) {
    this.#parts = parts;
  }

  /** Fetches the keys in the background, so that the server can start even if the issuer does not respond. */
  start(): void {
    if (this.#ended.signal.aborted) return;
    void this.#fetch();
    this.#timer = this.#parts.clock.setTimeout(() => this.start(), refreshMs);
    this.#timer.unref?.();
  }

  /** Removes the keys, so that no token is valid any more. Resolves when no fetch is in progress. */
  async stop(): Promise<void> {
    this.#ended.abort();
    this.#keys = new Map();
    this.#metadata = undefined;
    this.#parts.clock.clearTimeout(this.#timer);
    await this.#fetching;
  }

  /** Returns a key that is in memory. Without a key id, returns the only key, if there is just one. */
  known(kid: string | undefined): JWK | undefined {
    if (kid !== undefined) return this.#keys.get(kid);
    return this.#keys.size === 1 ? this.#keys.values().next().value : undefined;
  }

  /**
   * Returns the key that {@link known} returns. If this key is not in memory, fetches the keys from the issuer first,
   * but at most every 10 s. Never rejects.
   */
  async find(kid: string | undefined): Promise<JWK | undefined> {
    const known = this.known(kid);
    if (known !== undefined) return known;
    await this.#fetchUnlessTooSoon();
    return this.known(kid);
  }

  /**
   * Does the work of {@link find}, but fetches the keys even if they were fetched in the last 10 s. It is for a token
   * that the issuer itself has just sent.
   */
  async findNow(kid: string | undefined): Promise<JWK | undefined> {
    if (this.known(kid) === undefined) await this.#fetch();
    return this.known(kid);
  }

  /** Returns the last discovery document that was fetched; undefined if none could be fetched yet. Never rejects. */
  async metadata(): Promise<IssuerMetadata | undefined> {
    if (this.#metadata === undefined) await this.#fetchUnlessTooSoon();
    return this.#metadata;
  }

  async #fetchUnlessTooSoon(): Promise<void> {
    const isTooSoon = this.#parts.clock.now() < this.#fetchedMs + pauseMs;
    if (this.#fetching !== undefined || !isTooSoon) await this.#fetch();
  }

  #fetch(): Promise<void> {
    this.#fetching ??= this.#fetchNow().finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  async #fetchNow(): Promise<void> {
    const { config, clock, logger } = this.#parts;
    if (this.#ended.signal.aborted) return;
    try {
      this.#keys = this.#keep(await this.#download());
    } catch (err) {
      if (this.#ended.signal.aborted) return;
      logger.error({ err, issuer: config.url }, 'the keys of an issuer cannot be fetched: the known keys stay in use');
    } finally {
      this.#fetchedMs = clock.now();
    }
  }

  async #download(): Promise<readonly unknown[]> {
    const { config, clock } = this.#parts;
    const options = { clock, ca: config.certificateAuthority, signal: this.#ended.signal };
    const discoveryUrl = config.discoveryUrl ?? `${config.url.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const discovery = await fetchJson(discoveryUrl, options);
    if (!isJsonObject(discovery) || discovery['issuer'] !== config.url)
      throw new Error(`${discoveryUrl}: is not the discovery document of issuer ${config.url}`);
    const jwksUri = discovery['jwks_uri'];
    if (typeof jwksUri !== 'string' || !jwksUri.startsWith('https://') || !URL.canParse(jwksUri))
      throw new Error(`${discoveryUrl}: jwks_uri must be an https URL`);
    const jwks = await fetchJson(jwksUri, options);
    this.#metadata = { ...discovery, issuer: config.url };
    const keys: unknown = isJsonObject(jwks) ? jwks['keys'] : undefined;
    if (!Array.isArray(keys)) throw new Error(`${jwksUri}: holds no list of keys`);
    if (keys.length > maxKeys) throw new Error(`${jwksUri}: holds more than ${maxKeys} keys`);
    return keys as readonly unknown[];
  }

  /** Returns the keys by id. An unchanged key remains the same object, because verified tokens refer to it. */
  #keep(keys: readonly unknown[]): ReadonlyMap<string, JWK> {
    const kept = new Map<string, JWK>();
    for (const key of keys) {
      if (!isPublicKey(key)) continue;
      const kid = key.kid ?? '';
      const before = this.#keys.get(kid);
      kept.set(kid, before !== undefined && JSON.stringify(before) === JSON.stringify(key) ? before : key);
    }
    return kept;
  }
}

/** True for a key that verifies signatures. Keys for other purposes, and secret keys, are left out. */
function isPublicKey(key: unknown): key is JWK & { readonly kid?: string } {
  if (!isJsonObject(key)) return false;
  const { kty, use, kid } = key;
  const isKind = kty === 'RSA' || kty === 'EC';
  return isKind && (use === undefined || use === 'sig') && (kid === undefined || typeof kid === 'string');
}
