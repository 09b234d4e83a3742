import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '@homeostat/controller-runtime/api';
import { base64url, decodeProtectedHeader, EncryptJWT, jwtDecrypt } from 'jose';
import type { LoginSecrets } from '../identity/login-provider.ts';
import type { Vault } from '../vault/vault.ts';
import { readVault, readVaultEntries } from '../vault/read-vault.ts';

const keyPrefix = 'login/key';
const usedPrefix = 'login-used/';

/** The maximum time that a login may take. It is long enough to type a password and a second factor. */
export const maxLoginMs: number = 10 * 60_000;

/** The time for which a key encrypts new logins. */
const keyPeriodMs = 30 * 24 * 3_600_000;

/**
 * A login that has begun at an issuer. Its encrypted form is in a cookie until the issuer redirects the browser back.
 */
export interface KeptLogin {
  /** The name of the provider. */
  readonly provider: string;
  readonly redirectUri: string;
  /** The path that the browser requested before the login. */
  readonly next: string;
  readonly secrets: LoginSecrets;
}

/**
 * The logins of people who are at the issuer's page. A cookie of the browser has the login, encrypted by a key that all
 * replicas share. So unfinished logins need no memory in the server. The key changes every 30 days. The database stores
 * which logins were used.
 */
export class BegunLogins {
  readonly #vault: Vault;
  readonly #clock: Clock;

  constructor(vault: Vault, clock: Clock) {
    this.#vault = vault;
    this.#clock = clock;
  }

  async seal(login: KeptLogin): Promise<string> {
    const nowMs = this.#clock.now();
    const kid = keyNameAt(nowMs);
    return new EncryptJWT({ login })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid })
      .setExpirationTime(new Date(nowMs + maxLoginMs))
      .encrypt(this.#key(kid) ?? (await this.#makeKey(kid)));
  }

  /**
   * Decrypts a login. Resolves with undefined for a text that no replica has encrypted, and for a login that is too
   * old.
   */
  async open(sealed: string): Promise<KeptLogin | undefined> {
    try {
      const key = await this.#keyOf(String(decodeProtectedHeader(sealed).kid));
      if (key === undefined) return undefined;
      const options = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] };
      const currentDate = new Date(this.#clock.now());
      const { payload } = await jwtDecrypt(sealed, key, { ...options, currentDate, requiredClaims: ['exp'] });
      return payload['login'] as KeptLogin;
    } catch {
      return undefined;
    }
  }

  /** Marks a login as used. Resolves with true only for the first call with these secrets, on all replicas together. */
  async use({ state }: LoginSecrets): Promise<boolean> {
    const name = usedPrefix + createHash('sha256').update(state).digest('hex');
    return this.#vault.put(name, this.#clock.now(), { ifAbsent: true });
  }

  /**
   * Deletes the entries of the vault which state that a login was used, once this login has expired. Also deletes the
   * keys that encrypted only expired logins.
   */
  async sweep(): Promise<void> {
    const nowMs = this.#clock.now();
    for (const [name, usedMs] of readVaultEntries<number>(this.#vault, usedPrefix))
      // The entry of a used login is deleted after twice `maxLoginMs`, because the clocks of replicas may differ.
      if (nowMs - usedMs >= 2 * maxLoginMs) await this.#vault.delete(name);
    const kept = [keyNameAt(nowMs - 2 * maxLoginMs), keyNameAt(nowMs), keyNameAt(nowMs + 2 * maxLoginMs)];
    for (const name of this.#vault.entries(keyPrefix).keys()) if (!kept.includes(name)) await this.#vault.delete(name);
  }

  /**
   * Returns the key with this name. If another replica has just created the key, it may not be in memory yet, so it is
   * read from the database. This is done only if a key of this name can be in use, so that invented names cause no
   * reads.
   */
  async #keyOf(name: string): Promise<Uint8Array | undefined> {
    const known = this.#key(name);
    const nowMs = this.#clock.now();
    // The name of a key depends on the time of the replica that creates it. The clock of that replica may be ahead of
    // this one, so the name for a later time is accepted, too.
    const isInUse = [nowMs, nowMs + 2 * maxLoginMs].map(keyNameAt).includes(name);
    if (known !== undefined || !isInUse) return known;
    await this.#vault.reach();
    return this.#key(name);
  }

  #key(name: string): Uint8Array | undefined {
    if (!name.startsWith(keyPrefix)) return undefined;
    const known = readVault<string>(this.#vault, name);
    return known === undefined ? undefined : base64url.decode(known);
  }

  async #makeKey(name: string): Promise<Uint8Array> {
    await this.#vault.put(name, randomBytes(32).toString('base64url'), { ifAbsent: true });
    await this.#vault.reach();
    const key = this.#key(name);
    if (key === undefined) throw new Error('the vault has lost the key of logins');
    return key;
  }
}

/** Returns the name of the key that encrypts the logins which begin at `timeMs`. All replicas compute the same name. */
function keyNameAt(timeMs: number): string {
  return `${keyPrefix}/${Math.floor(timeMs / keyPeriodMs)}`;
}
